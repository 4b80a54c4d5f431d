// What fails is tried again, unless it says that trying is of no use.
import assert from 'node:assert/strict'
import { ActivityError, activity, open, PermanentError, RetryableError, RunError, workflow } from 'pawl'

const fetchRate = activity('fetch_rate', async (currency: string, ctx) => {
  console.log(`${currency}: attempt ${ctx.attempt} of ${ctx.maxAttempts}`)
  if (currency.length !== 3) throw new PermanentError(`'${currency}' is not a currency`)
  // `after` says when to try again, as a Retry-After header would; without it the policy decides.
  if (ctx.attempt < 3) throw new RetryableError('the bank is busy', { after: '100ms' })
  return 1.08
})

const convert = workflow('convert', async (ctx, input: { currency: string; cents: number }) => {
  const retry = { maxAttempts: 5, initial: '200ms', factor: 2 } as const
  const rate = await ctx.run(fetchRate, input.currency, { retry })
  return Math.round(input.cents * rate)
})

/** The same, but with an answer for the day the bank has none. */
const convertOrNot = workflow('convert_or_not', async (ctx, currency: string) => {
  try {
    return await ctx.run(fetchRate, currency)
  } catch (error) {
    if (error instanceof ActivityError) return `no rate: ${error.failure.message}`
    throw error
  }
})

const pawl = await open('sqlite:./pawl.db', {
  workflows: [convert, convertOrNot],
  activities: [fetchRate],
})
pawl.work()

const cents = await pawl.execute(convert, { currency: 'USD', cents: 1000 })
console.log(`${cents} cents`)
const answer = await pawl.execute(convertOrNot, 'EURO')
console.log(answer)
const failed = await pawl.execute(convert, { currency: 'EURO', cents: 1000 }).catch((error: unknown) => error)
console.log(String(failed))
await pawl.close()

assert.equal(cents, 1080)
assert.equal(answer, "no rate: 'EURO' is not a currency")
assert.ok(failed instanceof RunError)
