// What is in a run is nobody's business but yours: the store gets to see none of it, and a key is changed on the way.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { activity, open, signal, workflow } from 'pawl'
import { compress, encrypt, offload } from 'pawl/codecs'

const diagnose = activity('diagnose', async (patient: { name: string; scan: string }) => {
  return `${patient.name} needs glasses`
})
const signed = signal<string>('signed')
const visit = workflow('visit', async (ctx, patient: { name: string; scan: string }) => {
  const finding = await ctx.run(diagnose, patient)
  return `${finding}, says ${await ctx.wait(signed)}`
})
const code = { workflows: [visit], activities: [diagnose] }

// In earnest they come from where your secrets are.
const keys = { spring: randomBytes(32).toString('base64') }
const codecsWith = (all: Record<string, string>, current: string) => [
  compress(),
  encrypt({ keys: all, current }),
  offload({ to: './bodies', above: 10_000 }),
]

const before = await open('sqlite:./codecs.db', { ...code, codecs: codecsWith(keys, 'spring') })
before.work()
const scan = randomBytes(30_000).toString('base64')
const run = await before.start(visit, { name: 'Ada', scan }, { workflowId: 'visit-1' })
while ((await run.why()).reason !== 'signal') await new Promise((later) => setTimeout(later, 10))
await before.close()

const kept = await readFile('codecs.db', 'latin1')
console.log(kept.includes('Ada') ? 'the store knows Ada' : 'the store does not know Ada')

// A new key is there for everybody before it is the current one. The old one stays as long as anything needs it.
const both = { ...keys, summer: randomBytes(32).toString('base64') }
const after = await open('sqlite:./codecs.db', { ...code, codecs: codecsWith(both, 'summer') })
after.work()
const same = after.get(visit, { workflowId: 'visit-1' })
await same.signal(signed, 'Dr. Lovelace')
const result = await same.result()
console.log(result)
await after.close()

assert.equal(result, 'Ada needs glasses, says Dr. Lovelace')
assert.ok(!kept.includes('Ada') && kept.includes('~1 compress encrypt:spring offload '))
