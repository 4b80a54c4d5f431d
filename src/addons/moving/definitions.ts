// Submitted definitions and the roll-out of builds, which runs need wherever they go on.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { CATALOGUE_SPACES, DEFINITIONS_SPACE } from '../../core/index.ts'
import type { StoredRecord } from '../../core/stores/driver.ts'
import type { MovePorts } from './ports.ts'

/** Copies records that the target lacks. What it has stays as it is; another definition of a version is refused. */
export async function copyDefinitions(ports: MovePorts): Promise<number> {
  let copied = 0
  for (const space of CATALOGUE_SPACES) {
    for (let after: string | undefined; ; ) {
      const page = await recordsOf(ports, space, after)
      for (const record of page) if (await copyRecord(ports, space, record)) copied++
      after = page.at(-1)?.key
      if (after === undefined) break
    }
  }
  return copied
}

async function recordsOf({ from }: MovePorts, space: string, after?: string): Promise<readonly StoredRecord[]> {
  const list = { type: 'list', space, limit: limits.recordsListedMax, ...(after !== undefined && { after }) } as const
  const [outcome] = await from.send((store) => store.records([list]))
  return outcome?.type === 'list' ? outcome.records : []
}

async function copyRecord({ from, to, random }: MovePorts, space: string, record: StoredRecord): Promise<boolean> {
  const { key, body } = record
  const put = { type: 'put', space, key, version: 0, body, writeId: random.integer() } as const
  const [outcome] = await to.send((store) => store.records([put]))
  if (outcome?.type !== 'put' || outcome.outcome === 'applied') return true
  if (space === DEFINITIONS_SPACE && contentOf(outcome.record?.body ?? '') !== contentOf(body)) {
    const problem = `definition '${key}' in ${to.place} is another than in ${from.place}`
    throw new PawlError(
      'DEFINITION_CONFLICT',
      `${problem}. Submit the workflow under another name, or use another store.`,
    )
  }
  return false
}

/** The hash of a definition, without the time at which it was submitted. A body that is encoded is compared whole. */
function contentOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { readonly contentHash?: unknown }).contentHash ?? body
  } catch {
    return body
  }
}
