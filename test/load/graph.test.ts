// A graph of a thousand steps in twenty layers, each step after all fifty of the layer before it.
import { expect, test } from 'vitest'
import { graph, open, type Workflow } from '../../src/index.ts'
import { storeKinds, withStore } from './stores.ts'

const layers = 20
const width = 50

test.each(storeKinds)('%s: 1,000 steps in 20 layers', { timeout: 120_000 }, async (kind) => {
  await withStore(kind, async (url) => {
    const begun: number[] = []
    const definition = layered((layer) => begun.push(layer))
    const engine = await open(url, { workflows: [definition] })
    try {
      engine.work({ signals: false })
      const before = performance.now()
      const run = await engine.start(definition)
      // Every step adds up what the layer before it gave, and one.
      expect(await run.result()).toBe(sumOfLast())
      const ms = performance.now() - before
      console.log(`${kind}: ${layers * width} steps in ${(ms / 1_000).toFixed(1)} s`)
      // Each of them once, and no layer before the one it comes after.
      expect(begun).toHaveLength(layers * width)
      expect(begun).toEqual(begun.toSorted((a, b) => a - b))
      const ended = new Set<string>()
      for await (const { type, step } of run.history()) if (type === 'StepCompleted') ended.add(String(step))
      expect(ended.size).toBe(layers * width)
    } finally {
      await engine.close()
    }
  })
})

type Results = Readonly<Record<string, number>>

/** The compiler cannot follow names that are made in a loop. */
interface Builder {
  step(
    name: string,
    options: { readonly after: readonly string[] },
    handler: (ctx: { readonly results: Results }) => number,
  ): Builder
  output(fn: (ctx: { readonly results: Results }) => number): Workflow<void, number>
}

function layered(begin: (layer: number) => void): Workflow<void, number> {
  let built = graph('layered') as unknown as Builder
  const namesOf = (layer: number): string[] =>
    layer < 0 ? [] : Array.from({ length: width }, (_, n) => `${layer}.${n}`)
  for (let layer = 0; layer < layers; layer++) {
    for (const name of namesOf(layer)) {
      built = built.step(name, { after: namesOf(layer - 1) }, ({ results }) => {
        begin(layer)
        return sumOf(results) / width + 1
      })
    }
  }
  return built.output(({ results }) => sumOf(results))
}

function sumOf(results: Results): number {
  return Object.values(results).reduce((sum, each) => sum + each, 0)
}

/** Layer n gives n + 1, fifty times. */
function sumOfLast(): number {
  return (width * layers * (layers + 1)) / 2
}
