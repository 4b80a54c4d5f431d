// Workflows that start workflows. A child is a run of its own: it has its own history and can be looked at alone.
import assert from 'node:assert/strict'
import { activity, open, RunError, workflow } from 'pawl'

const resize = activity('resize', async (image: string) => {
  if (image.endsWith('.txt')) throw new Error(`${image} is not an image`)
  return `small-${image}`
})

const album = workflow('album', async (ctx, images: string[]) => {
  const retry = { maxAttempts: 2, initial: '10ms' } as const
  return Promise.all(images.map((image) => ctx.run(resize, image, { retry })))
})

const library = workflow('library', async (ctx, albums: Record<string, string[]>) => {
  const entries = Object.entries(albums)
  const settled = await Promise.allSettled(
    entries.map(([name, images]) => ctx.child(album, images, { workflowId: `${ctx.info.workflowId}/${name}` })),
  )
  return settled.map((each, index) => {
    const name = entries[index]?.[0] ?? ''
    if (each.status === 'fulfilled') return `${name}: ${each.value.length} images`
    const { reason } = each as { reason: unknown }
    return `${name}: ${reason instanceof RunError ? 'failed' : 'cancelled'}`
  })
})

const pawl = await open('sqlite:./pawl.db', { workflows: [album, library], activities: [resize] })
pawl.work()

const albums = { garden: ['rose.png', 'tulip.png'], desk: ['notes.txt'], sea: ['wave.png'] }
const run = await pawl.start(library, albums, { workflowId: 'library' })
const report = await run.result()
console.log(report)

const garden = await pawl.get(album, { workflowId: 'library/garden' }).describe()
console.log(`library/garden is run ${garden.runId}, a child of ${garden.parentRunId}`)
await pawl.close()

assert.deepEqual(report, ['garden: 2 images', 'desk: failed', 'sea: 1 images'])
assert.equal(garden.parentRunId, run.runId)
