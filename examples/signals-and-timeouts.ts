// A run that waits for people: for as many signals as it needs, and not for ever.
import assert from 'node:assert/strict'
import { open, signal, TIMEOUT, workflow } from 'pawl'

const vote = signal<{ by: string; yes: boolean }>('vote')

const ballot = workflow('ballot', async (ctx, input: { voters: number; patienceMs: number }) => {
  const votes: { by: string; yes: boolean }[] = []
  while (votes.length < input.voters) {
    const next = await ctx.wait(vote, { timeout: input.patienceMs })
    if (next === TIMEOUT) return { outcome: 'too few votes' as const, votes: votes.length }
    votes.push(next)
  }
  const yes = votes.filter((each) => each.yes).length
  return { outcome: yes * 2 > votes.length ? ('yes' as const) : ('no' as const), votes: yes }
})

const pawl = await open('sqlite:./pawl.db', { workflows: [ballot] })
pawl.work()

const run = await pawl.start(ballot, { voters: 3, patienceMs: 60_000 })
// Signals are kept in the order they were accepted, whether or not a wait for them has begun.
await run.signal(vote, { by: 'Ada', yes: true })
await run.signal(vote, { by: 'Grace', yes: false })
// The same message id is delivered once, however often it is sent.
await run.signal(vote, { by: 'Edsger', yes: true }, { messageId: 'edsger' })
await run.signal(vote, { by: 'Edsger', yes: true }, { messageId: 'edsger' }).catch(() => {})
const decided = await run.result()
console.log(decided)

const alone = await pawl.start(ballot, { voters: 2, patienceMs: 500 })
await alone.signal(vote, { by: 'Ada', yes: true })
const lapsed = await alone.result()
console.log(lapsed)
await pawl.close()

assert.deepEqual(decided, { outcome: 'yes', votes: 2 })
assert.deepEqual(lapsed, { outcome: 'too few votes', votes: 1 })
