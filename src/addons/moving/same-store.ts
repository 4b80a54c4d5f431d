// Two URLs may name one store: by another host name, through a pooler, or over a link. A run that is moved to where it
// is would be lost, so the move leaves a mark in one store and looks for it in the other.
import { PawlError } from '../../core/base/errors.ts'
import type { StoredRecord } from '../../core/stores/driver.ts'
import type { MovePorts, Side } from './ports.ts'

const SPACE = 'moves'

/** The mark also tells people which moves there were. */
export async function refuseSameStore({ from, to, move, random }: MovePorts): Promise<void> {
  const key = String(move)
  for (;;) {
    const known = await markIn(from, key)
    const body = JSON.stringify({ from: from.place, to: to.place, mark: random.integer() })
    const put = {
      type: 'put',
      space: SPACE,
      key,
      version: known?.version ?? 0,
      body,
      writeId: random.integer(),
    } as const
    const [outcome] = await from.send((store) => store.records([put]))
    // Otherwise the same move runs in another process, too.
    if (outcome?.type !== 'put' || outcome.outcome !== 'applied') continue
    if ((await markIn(to, key))?.body !== body) return
    const problem = `${from.place} and ${to.place} are the same store. A move needs two`
    throw new PawlError('INPUT_INVALID', `${problem}: name another store.`)
  }
}

async function markIn(side: Side, key: string): Promise<StoredRecord | undefined> {
  const [found] = await side.send((store) => store.records([{ type: 'get', space: SPACE, key }]))
  return found?.type === 'get' ? found.record : undefined
}
