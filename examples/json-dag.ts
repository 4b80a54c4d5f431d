// A graph that is data: submitted, started to wait, and triggered with its parameters, twice.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { open } from 'pawl'
import { callExternalService } from 'pawl/handlers'

// In a real program these are services of others, and use https.
const facts: Record<string, { degrees: number; count: number }> = {
  Rome: { degrees: 24, count: 2_750_000 },
  Bergen: { degrees: 9, count: 290_000 },
}
let failures = 1
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
  const fact = facts[searchParams.get('city') ?? '']
  response.setHeader('content-type', 'application/json')
  if (pathname === '/people' && failures-- > 0) response.statusCode = 503
  response.end(JSON.stringify(pathname === '/weather' ? { degrees: fact?.degrees } : fact))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const pawl = await open('sqlite:./pawl.db', {
  activities: [callExternalService({ hosts: ['127.0.0.1'], allowPrivate: ['127.0.0.1'] })],
})
pawl.work()

// Checked before anything is stored; the same again is the same version.
const document = await readFile(new URL('./json-dag.yaml', import.meta.url), 'utf8')
const report = await pawl.submit(document)
const again = await pawl.submit(document)
console.log(report.name, 'version', report.version, report.definitionHash)

const results: unknown[] = []
for (const city of ['Rome', 'Bergen']) {
  const run = await pawl.start(report, {}, { pending: true })
  console.log(city, (await run.describe()).status, (await run.why()).suggestion)
  await run.trigger({ city, api })
  results.push(await run.result())
}
console.log(results)

// What cannot be right is refused with everything that is wrong with it.
const broken = await pawl
  .submit(document.replace('[weather, people]', '[weather, poeple]'))
  .catch((error: unknown) => error)
console.log(String(broken))
await pawl.close()
server.close()

assert.equal(again.version, report.version)
assert.deepEqual(results, [
  { text: 'Rome: 24 degrees, 2750000 people', busy: true },
  { text: 'Bergen: 9 degrees, 290000 people', busy: false },
])
assert.match(String(broken), /there is no node 'poeple'; did you mean 'people'\?/)
