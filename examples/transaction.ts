// Money moves exactly once: what a step writes to the store's own database and that it is done become durable together.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { open, workflow } from 'pawl'

interface Transfer {
  readonly from: string
  readonly to: string
  readonly cents: number
}

const transfer = workflow('transfer', async (ctx, { from, to, cents }: Transfer) => {
  const left = await ctx.transaction('move the money', async (sql) => {
    await sql.query('update account set cents = cents - ? where id = ?', [cents, from])
    await sql.query('update account set cents = cents + ? where id = ?', [cents, to])
    const [row] = await sql.query<{ cents: number }>('select cents from account where id = ?', [from])
    return row?.cents ?? 0
  })
  return `${left} cents left`
})

const pawl = await open('sqlite:./pawl.db', { workflows: [transfer] })
const database = new DatabaseSync('./pawl.db')
database.exec(`
  create table if not exists account (id text primary key, cents integer not null check (cents >= 0));
  delete from account;
  insert into account values ('Ada', 1000), ('Eve', 0);
`)
pawl.work()

const said = await pawl.execute(transfer, { from: 'Ada', to: 'Eve', cents: 300 })
const rows = database.prepare('select id, cents from account order by id').all()
console.log(said, JSON.stringify(rows))
assert.equal(said, '700 cents left')
assert.deepEqual(
  rows.map((row) => row['cents']),
  [700, 300],
)
database.close()
await pawl.close()
