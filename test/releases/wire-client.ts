// A client that uses a server as programs do, and prints what it saw.
// Usage: node test/crash/wire-client.ts <url> <token>
import { connect, PawlError, query, signal, update, workflow } from '../../src/remote/index.ts'

const [, , url = '', token = ''] = process.argv
const order = workflow.declare<number, { total: number; due: Date }>('order')
const fails = workflow.declare<void, void>('fails')
const [go, add, sum] = [signal<number>('go'), update<number, number>('add'), query<undefined, number>('sum')]
await using pawl = connect(url, { token, timeout: '10s' })
const run = await pawl.start(order, 5, { workflowId: 'a', attributes: { region: 'eu' } })
const again = await pawl.start(order, 5, { workflowId: 'a', reuse: 'returnExisting' })
const added = await run.update(add, 10)
const asked = await run.query(sum)
const [listed] = (await pawl.list({ workflow: 'order', attributes: { region: 'eu' } })).items
const { reason } = await run.why()
await run.signal(go, 100)
const result = await run.result()
const types: string[] = []
for await (const { type } of run.history()) types.push(type)
const failed = await pawl.execute(fails).catch((error: unknown) => String(error))
const missing = await pawl
  .get({ workflowId: 'nobody' })
  .describe()
  .catch((error: unknown) => error instanceof PawlError && error.code)
const counts = [await pawl.count({ status: 'completed' }), (await pawl.workers()).length, (await pawl.me()).scope]
const { status, waitingFor } = listed ?? {}
const isDate = result.due instanceof Date
console.log(
  JSON.stringify({
    ...{ isNew: [run.isNew, again.isNew], added, asked, listed: { status, waitingFor }, reason },
    ...{ total: result.total, isDate, types, failed, missing, counts },
  }),
)
