// A step streams what it makes while it makes it. The first attempt fails in the middle; the second continues behind
// what the first one wrote, and a reader sees every word once.
import assert from 'node:assert/strict'
import { activity, open, stream, workflow } from 'pawl'

const words = stream<string>('words')
const log = stream<{ at: Date; text: string }>('log')

const text = 'a pawl lets a ratchet turn forward and never slip back'.split(' ')

const recite = activity('recite', { retry: { initial: '10ms' } }, async (_input: void, ctx) => {
  const out = ctx.stream(words, { resume: true })
  for (const word of text.slice(await out.kept())) {
    await out.write(word)
    if (word === 'turn' && ctx.attempt === 1) throw new Error('lost my place')
  }
  out.close()
})

const poem = workflow('poem', async (ctx) => {
  const lines = ctx.stream(log)
  lines.write({ at: new Date(ctx.now()), text: 'begins' })
  await ctx.run(recite)
  lines.write({ at: new Date(ctx.now()), text: 'ends' })
})

const pawl = await open('sqlite:./pawl.db', { workflows: [poem], activities: [recite] })
pawl.work()
const run = await pawl.start(poem)

const seen: string[] = []
for await (const { offset, chunk, part } of run.stream(words)) {
  console.log(`${offset} ${chunk} (attempt ${part.attempt})`)
  seen.push(chunk)
}
await run.result()

// Later, from any offset.
const rest: string[] = []
for await (const { chunk } of run.stream(words, { from: 6 })) rest.push(chunk)
const lines = await run.streamed(log)
console.log(rest.join(' '), lines, await run.streams())
await pawl.close()

assert.deepEqual(seen, text)
assert.deepEqual(rest, text.slice(6))
assert.deepEqual(
  lines.map((line) => line.text),
  ['begins', 'ends'],
)
