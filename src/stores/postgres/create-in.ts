// Creating runs in a transaction of the caller's: they are there, and others hear of them, when it commits.
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
  /** Brings the database up to date, or says why not. */
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
      // Too late for this transaction, but its caller will try again.
      if (isMissing(error)) await install()
      throw explain(error)
    }
  }
  // As text: how the caller's driver reads JSON is the caller's business.
  const call = async <T>(name: string, ...values: unknown[]): Promise<T> => {
    const places = [now, ...values].map((_, index) => `$${index + 1}`).join(', ')
    const text = `select ${nameOf(schema, name)}(${places})::text as answer`
    const [row] = await query<{ answer: string | null }>(text, [now, ...values])
    return JSON.parse(row?.answer ?? 'null') as T
  }
  const heard: Hint[] = []
  const tell = (hints: readonly Hint[]): void => void heard.push(...hints)
  const collected = { channel: hints.channel, tell, rider: () => undefined }
  // A lane that is new is made outside: everybody else who needs it would wait for the caller's transaction.
  await Promise.all(runs.map((run) => lanes.of(run)))
  const creator = new PostgresCreator({
    schema,
    hints: collected,
    lanes,
    wait: () => null,
    call,
    query,
  })
  // Nobody can hold yet what may never be there.
  const created = await creator.create(runs.map(({ eager: _, ...run }) => run))
  const bulletin = heard.length > 0 ? hints.passenger(heard) : undefined
  if (bulletin) await query('select pg_notify($1, $2)', [hints.channel, bulletin])
  return created
}
