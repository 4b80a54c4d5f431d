// Promise.all over activities: each runs on its own, is recorded on its own, and is retried on its own.
import assert from 'node:assert/strict'
import { activity, open, workflow } from 'pawl'

const countWords = activity('count_words', async (text: string) => text.split(/\s+/).length)

const countAll = workflow('count_all', async (ctx, texts: string[]) => {
  const counts = await Promise.all(texts.map((text) => ctx.run(countWords, text)))
  return counts.reduce((sum, count) => sum + count, 0)
})

const pawl = await open('sqlite:./pawl.db', { workflows: [countAll], activities: [countWords] })
pawl.work({ concurrency: 10 })

const texts = Array.from({ length: 50 }, (_, index) => 'word '.repeat(index + 1).trim())
const words = await pawl.execute(countAll, texts)
console.log(`${words} words in ${texts.length} texts`)
await pawl.close()

assert.equal(words, 1275)
