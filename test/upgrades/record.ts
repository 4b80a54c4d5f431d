// Prints histories of the workflows of `corpus-code.ts`, one exported run per line: runs that have ended, and runs in the
// middle. Run as an earlier release, they are those of that release:
// npx node test/upgrades/record.ts <commit> > test/upgrades/histories/<commit>.jsonl
import { spawnSync } from 'node:child_process'
import { PawlError } from '../../src/index.ts'
import { testEngine } from '../../src/testing/index.ts'
import { add, code, flows, go } from './corpus-code.ts'
import { asRelease, unpacked } from './releases.ts'

const [, , commit] = process.argv
if (commit !== undefined) {
  const flags = asRelease(await unpacked({ commit, about: '' }))
  const { status } = spawnSync(process.execPath, [...flags, import.meta.filename], { stdio: 'inherit' })
  process.exit(status ?? 1)
}

const engine = await testEngine({ ...code, logger: { log: () => {} }, skipTime: false })
const { everything, hooked, booking, loop, parent, cleans, sender, pipeline, broken, agent, waiter } = flows
const seconds = (count: number): Promise<void> => engine.clock.advance(count * 1_000)

for (const stage of [0, 2, 8, 12, 30]) {
  const run = await engine.start(everything, 5, { workflowId: `everything-${stage}`, memo: { stage } })
  await seconds(stage)
  if (stage === 30) {
    for (const more of [10, 200, -1]) {
      const answered = run.update(add, more).catch((error: unknown) => {
        if (!(error instanceof PawlError)) throw error
      })
      await engine.idle()
      await answered
    }
    await run.signal(go, 3)
  }
  await engine.idle()
}
const hook = await engine.start(hooked, undefined, { workflowId: 'hooked-answered' })
await engine.start(hooked, undefined, { workflowId: 'hooked-waiting' })
await engine.idle()
await engine.resolve(String((await hook.describe()).attributes['token']), 5)
for (const fails of [true, false]) await engine.start(booking, fails, { workflowId: `booking-${fails}` })
const rounds = await engine.start(loop, 2, { workflowId: 'loop' })
await engine.idle()
await rounds.signal(go, 1)
await seconds(90)
const kept = await engine.start(parent, undefined, { workflowId: 'parent' })
const clean = await engine.start(cleans, undefined, { workflowId: 'cleans' })
await engine.start(cleans, undefined, { workflowId: 'cleans-waiting' })
await engine.start(waiter, undefined, { workflowId: 'receiver' })
await engine.start(sender, 'receiver', { workflowId: 'sender' })
await engine.idle()
await clean.cancel('enough')
await kept.cancel('enough')
for (const [id, signals] of [
  ['waiting', 0],
  ['answered', 1],
] as const) {
  const [flow, machine] = [
    await engine.start(pipeline, { items: [1, 2], skips: signals === 0 }, { workflowId: `pipeline-${id}` }),
    await engine.start(agent, 'ask', { workflowId: `agent-${id}` }),
  ]
  await seconds(5)
  if (signals > 0) for (const run of [flow, machine]) await run.signal(go, 9)
  await seconds(5)
}
const lost = await engine.start(broken, 1, { workflowId: 'broken' })
const again = await engine.start(broken, 1, { workflowId: 'broken-retried' })
await engine.idle()
await again.retry()
const [paused, resumed] = [
  await engine.start(waiter, undefined, { workflowId: 'paused' }),
  await engine.start(waiter, undefined, { workflowId: 'resumed' }),
]
await engine.idle()
for (const run of [paused, resumed]) await run.pause('look')
await engine.idle()
await resumed.resume()
await engine.idle()
await lost.fork({ step: 'reserve' })
const pending = await engine.start(flows.child, 1, { workflowId: 'pending', pending: true })
const triggered = await engine.start(flows.child, 1, { workflowId: 'triggered', pending: true })
await triggered.trigger(4)
const reset = await engine.start(flows.child, 8, { workflowId: 'reset' })
await engine.idle()
await reset.reset({ step: 'double' })
await engine.start(waiter, undefined, { workflowId: 'terminated' })
await engine.idle()
await engine.get({ workflowId: 'terminated' }).terminate('enough')
await pending.describe()
const every = { workflow: flows.child, input: 3 } as const
await engine.schedules.set('often', { ...every, every: '10m', overlap: 'allow' })
await engine.schedules.set('nightly', { ...every, cron: '0 3 * * *', timeZone: 'Europe/Berlin', catchUp: 'all' })
await engine.clock.advance('25m')
await engine.schedules.get('nightly').pause('a test')
await engine.idle()
for await (const line of engine.export()) console.log(line)
await engine.close()
