// Rows of many runs, written with SQL: through pawl a million of them would take minutes.
import { DatabaseSync } from 'node:sqlite'
import { connectPostgres } from './database.ts'

export const firstAt = 1_760_000_000_000
export const apartMs = 1_000

/** How a database words what the rows are made of; `n` numbers the runs. */
interface Words {
  readonly table: (name: string) => string
  readonly id: (n: string) => string
  readonly numbers: (count: number) => string
}

const postgres: Words = {
  table: (name) => `pawl.${name}`,
  id: (n) => `('01980000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`,
  numbers: (count) => `generate_series(1, ${count}) n`,
}
const sqlite: Words = {
  table: (name) => `pawl_${name}`,
  id: (n) => `printf('01980000-0000-7000-8000-%012x', ${n})`,
  numbers: (count) => `(select value as n from generate_series(1, ${count}))`,
}

/** A twentieth of the runs is in progress, a thirty-third failed, a tenth are children. */
function rowsOf({ table, id, numbers }: Words, size: number): string[] {
  const from = `from ${numbers(size)}`
  const createdAt = `${firstAt} + n * ${apartMs}`
  const lane = 'case when n % 10000 = 1 then 50 else 1 + n % 49 end'
  const isLive = 'n % 20 = 0'
  const live = `case when n % 2000 = 0 then 'paused' else 'waiting' end`
  const waits = `case when n % 100000 = 0 then 'signal:rare' when n % 3 = 0 then 'signal:approval'
    when n % 3 = 1 then 'timer' else 'activity:charge' end`
  const hasFailed = 'n % 33 = 1'
  const ended = `case when ${hasFailed} then 'failed' when n % 50 = 3 then 'cancelled' else 'completed' end`
  const failure = `case when ${hasFailed} then 'failed:E' || (n % 20) end`
  const attribute = (name: string, kind: 'text' | 'number', value: string): string => {
    const columns = kind === 'text' ? `'text', ${value}, null` : `'number', null, ${value}`
    return `insert into ${table('attribute')} (run_id, name, kind, text, number)
      select ${id('n')}, '${name}', ${columns} ${from}`
  }
  const lanes = Array.from({ length: 50 }, (_, n) => `(${n + 1}, 'run', 'default', 'w${n + 1}', 0)`)
  return [
    `insert into ${table('lane')} (lane, kind, queue, name, priority) OVERRIDING values ${lanes.join(', ')}`,
    `insert into ${table('run')} (run_id, lane, workflow_id, parent_id, parent_generation, parent_key, created_at, digest,
      input) select ${id('n')}, ${lane}, 'order-' || n, case when n % 10 = 5 then ${id('n - 5')} end,
      case when n % 10 = 5 then 1 end, case when n % 10 = 5 then 'k' end, ${createdAt}, 'd', '{"json":1}' ${from}`,
    `insert into ${table('live')} (run_id, lane, start_at, updated_at, at, status, reason)
      select ${id('n')}, ${lane}, ${createdAt}, ${createdAt}, 8640000000000000, ${live}, ${waits} ${from} where ${isLive}`,
    `insert into ${table('closed')} (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, reason
      CREATED) select ${id('n')}, ${ended}, ${createdAt}, 1, 0, 1, 1, 1,
      '{"build":"b","events":[{"type":"RunCompleted","at":1,"value":{"json":1}}]}', ${failure} AT ${from}
      where not (${isLive})`,
    attribute('region', 'text', `'r' || (n % 5)`),
    attribute('customer', 'text', `'c' || (n % 100000)`),
    attribute('total', 'number', 'n % 1000'),
  ]
}

export async function fillPostgres(url: string, size: number): Promise<void> {
  const connection = await connectPostgres(url)
  for (const text of rowsOf(postgres, size)) {
    await connection.query(
      text.replace('OVERRIDING', 'overriding system value').replace('CREATED', '').replace('AT from', 'from'),
    )
  }
  await connection.query('vacuum analyze')
  await connection.end()
}

export function fillSqlite(file: string, size: number): void {
  const database = new DatabaseSync(file)
  database.exec('pragma synchronous = off; begin')
  const made = sqlite.numbers(size)
  const recursive = `(with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${size})
    select n from numbers)`
  const createdAt = `${firstAt} + n * ${apartMs}`
  for (const text of rowsOf(sqlite, size)) {
    const words = text
      .replace('OVERRIDING', '')
      .replace('CREATED', ', created_at')
      .replace('AT from', `, ${createdAt} from`)
    database.exec(words.replaceAll(made, recursive))
  }
  database.exec('commit; analyze')
  database.close()
}
