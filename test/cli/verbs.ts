// Every verb, as it is typed on a store: the code it ends with, and what it prints.

export const shop = `
const go = pawl.signal('go')
const stage = pawl.query('stage')
const add = pawl.update('add')
export const order = pawl.workflow('order', async (ctx, cents) => {
  let sum = cents
  ctx.on(stage, () => sum)
  ctx.on(add, (more) => (sum += more))
  await ctx.run('pay', () => cents)
  await ctx.wait(go)
  return sum
})
export const fails = pawl.workflow('fails', async (ctx) =>
  ctx.run('bad', { retry: 'none' }, () => { throw new Error('the shop is closed') }))
`
export const graph = `
name: report
nodes:
  - id: first
    handler: input
`

/** What is typed, the code it ends with, and what it prints on either stream. */
export type Row = readonly [args: string, code: number, prints: RegExp]

const attributes = '--attribute region=eu --attribute tags=x --attribute tags=y'

/** Nobody works yet: everything is kept, and said. */
export const alone: readonly Row[] = [
  [`start order 5 --workflow-id a ${attributes} --priority 3`, 0, /started[^]*No living/],
  ['start order 5 --workflow-id a --reuse allowIfEnded', 1, /RUN_ALREADY_EXISTS/],
  ['start order 5 --reuse sometimes', 2, /'allowIfEnded'/],
  ['start order 1 --workflow-id p --pending', 0, /is pending/],
  ['runs --attribute region=eu', 0, /order +a +pending/],
  ['runs --attribute region=us', 0, /No run matches/],
  ['runs --attribute tags=y --attribute region=eu', 0, /order +a +pending/],
  ['runs --attribute tags=z', 0, /No run matches/],
  ['runs --attribute tags=x --attribute tags=y', 2, /Give 'tags' once/],
  ['runs --status lost', 2, /INPUT_INVALID/],
  ['runs --limit many', 2, /whole number/],
  ['runs --watch --cursor x', 2, /cannot be used with option '--watch'/],
  ['runs --limit many --json', 2, /"code": "USAGE"/],
  ['run a', 0, /priority 3[^]*region: 'eu'[^]*tags: \[ *'x', 'y' *\]/],
  ['why a', 0, /^Waiting for a worker/],
  ['why nobody --json', 1, /"code": "RUN_NOT_FOUND"/],
  ['submit report.yaml', 0, /report/],
  ['definitions report', 0, /VERSION[^]*\n +1 /],
  ['check other.ts', 1, /no code +2 runs of 'order'[^]*2 without code/],
]

/** Of a run that waits for a signal, and takes an update and a query meanwhile. */
export const waiting: readonly Row[] = [
  ['steps a', 0, /KEY[^]*step:pay#1/],
  ['query a stage --code shop.ts', 0, /^5$/m],
  ['query a stag --code shop.ts', 1, /QUERY_NOT_FOUND.*|it has: stage/],
  ['update a add 2 --timeout 20s', 0, /^7$/m],
  ['signal a og', 0, /is waiting for 'go'/],
  ['check shop.ts', 0, /2 runs in progress[^]*2 compatible/],
  ['signal a go', 0, /sent/],
]

export const ended: readonly Row[] = [
  ['run a', 0, /result +7/],
  ['tail a', 0, /RunStarted +order[^]*StepCompleted +step:pay#1[^]*RunCompleted\ncompleted\n$/],
  ['tail nobody', 1, /RUN_NOT_FOUND/],
  ['stream a', 0, /The run has written to no stream/],
  ['stream a tokens', 0, /^$/],
  ['stream nobody tokens', 1, /RUN_NOT_FOUND/],
  ['update a add 1', 1, /RUN_ENDED/],
  ['cancel a', 0, /has already ended: completed/],
  ['terminate a --reason enough', 0, /has already ended: completed/],
  ['retry a', 1, /RUN_ENDED/],
  ['export --workflow-id a', 0, /"pawl"/],
  ['trigger p', 0, /run/],
]

export const failing: readonly Row[] = [
  ['start fails --workflow-id f --wait', 1, /RUN_FAILED/],
  ['why f', 0, /^Failed: [^]*the shop is closed[^]*pawl retry f$/m],
  ['fork f bad --result bad=1', 0, /forked run/],
  ['fork f bad --result worse=1', 2, /no step or child 'worse'/],
  ['fork f bad --result bad=text', 2, /--result bad: It is not JSON/],
  ['fork f bad --result bad=1 --json', 0, /"from": "/],
  ['retry f', 0, /is retried/],
]

export const others: readonly Row[] = [
  ['discard f m', 1, /RUN_ENDED/],
  ['reset f bad', 0, /is reset/],
  ['resolve nothing 1', 1, /TOKEN_INVALID/],
  ['terminate t --reason enough', 0, /will be terminated/],
  ['schedules', 0, /No schedules/],
  ['schedule trigger nightly', 1, /RUN_NOT_FOUND/],
  ['schedule stop nightly', 2, /expected describe, update, pause/],
  ['schedule update nightly --every 5m', 1, /RUN_NOT_FOUND/],
  ['builds', 0, /build/i],
  ['migrate p --to nothing', 1, /RUN_ENDED/],
]

/** Not on object storage. */
export const retention: readonly Row[] = [
  ['retention', 0, /kept forever/],
  ['retention set', 2, /--keep 30d/],
  ['retention set --keep 30x', 2, /30x/],
  ['retention set --keep 300d --failed forever', 0, /keep for 300d, failed for forever/],
  ['retention set --newest 50 --workflow order', 0, /order: at most 50/],
  ['retention', 0, /all workflows +keep for 300d[^]*order +at most 50[^]*deleted so far/],
  ['retention remove --workflow none', 2, /no rule of its own/],
  ['retention remove --workflow order', 0, /as all workflows/],
  ['retention remove', 0, /kept forever/],
  ['purge --keep 0s', 2, /Add --yes/],
  ['purge', 2, /--keep 30d/],
  ['purge --keep 0s --dry-run', 0, /runs would be deleted:[^]*order/],
  ['purge --keep 0s --workflow none --yes --json', 0, /"purged": 0,/],
]

export const retentionRefused: readonly Row[] = [
  ['retention', 0, /kept forever/],
  ['retention set --keep 300d', 1, /\?retention=30d/],
  ['purge --keep 0s --dry-run', 1, /NOT_SUPPORTED/],
]
