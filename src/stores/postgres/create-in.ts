// Creates runs in a transaction of the caller: they exist, and other processes hear of them, when it commits.
import type { Created, Hint, NewRun, SqlClient } from '../../core/stores/driver.ts'
import { isMissing } from './calls.ts'
import { explain } from './connection.ts'
import { PostgresCreator } from './create-call.ts'
import { nameOf } from './functions/index.ts'
import type { Hints } from './hints.ts'
import type { Lanes } from './lanes.ts'

export interface CreateInPorts {
  readonly schema: string
  readonly hints: Pick<Hints, 'channel' | 'passenger'>
  readonly lanes: Lanes
  readonly now: number | null
  /** Brings the database up to date, or throws why it cannot. */
  readonly install: () => Promise<void>
}

export async function createIn(
  client: SqlClient,
  runs: readonly NewRun[],
  { schema, hints, lanes, now, install }: CreateInPorts,
): Promise<readonly Created[]> {
  const query = async <Row>(text: string, values: readonly unknown[]): Promise<Row[]> => {
    try {
      return (await client.query(text, [...values])).rows as Row[]
    } catch (error) {
      // Too late for this transaction, but the caller will retry.
      if (isMissing(error)) await install()
      throw explain(error)
    }
  }
  // As text, because the caller decides how its driver reads JSON.
  const call = async <T>(name: string, ...values: unknown[]): Promise<T> => {
    const places = [now, ...values].map((_, index) => `$${index + 1}`).join(', ')
    const text = `select ${nameOf(schema, name)}(${places})::text as answer`
    const [row] = await query<{ answer: string | null }>(text, [now, ...values])
    return JSON.parse(row?.answer ?? 'null') as T
  }
  const heard: Hint[] = []
  const tell = (hints: readonly Hint[]): void => void heard.push(...hints)
  const collected = { channel: hints.channel, tell, rider: () => undefined }
  // A new lane is added outside, because others that need it would wait for the caller's transaction.
  await Promise.all(runs.map((run) => lanes.of(run)))
  const creator = new PostgresCreator({
    schema,
    hints: collected,
    lanes,
    wait: () => null,
    call,
    query,
  })
  // No session can hold a run that may never exist.
  const created = await creator.create(runs.map(({ eager: _, ...run }) => run))
  const bulletin = heard.length > 0 ? hints.passenger(heard) : undefined
  if (bulletin) await query('select pg_notify($1, $2)', [hints.channel, bulletin])
  return created
}
