// What a step of a graph costs as graphs grow: CPU per step and time per run, without peers. Client and worker are this
// process, on SQLite in a new folder unless --store says otherwise. CPU is the process's own, so that figures mean
// something on a busy machine; the time of a run does not, there.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate as moment } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { graph, open, type Workflow } from 'pawl'
import { Executions, requireExactlyOnce } from './executions.ts'
import { hastyRules, measureQuietly, patientRules } from './quiet.ts'
import { renderTable } from './report.ts'
import { median } from './statistics.ts'
import { now } from './time.ts'

const usage = `node graphs.ts [options]
  --store <url>  this store instead of SQLite; an empty one
  --rounds <n>   how often each is measured; the table has medians (5)
  --smoke        tiny sizes: does everything work?
  --hasty        do not wait for quiet nor measure again; noisy figures are still marked
  --out <file>   where the figures go (results/graphs-<time>.json)`

const { values: options } = parseArgs({
  options: {
    store: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    smoke: { type: 'boolean', default: false },
    hasty: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const rules = options.smoke || options.hasty ? hastyRules : patientRules
const rounds = options.smoke ? 1 : Number(options.rounds)
const sizes = options.smoke ? [10, 100] : [100, 200, 500, 1_000, 2_000]
/** A small graph is run so often that as many steps are measured as of a large one. */
const stepsMeasured = Math.max(...sizes)

interface Shape {
  name: string
  /** Steps in a layer; every step comes after all of the layer before it. */
  width: (steps: number) => number
  /** One body at a time, each of which takes a moment. */
  single?: true
}

const shapes: readonly Shape[] = [
  { name: 'layers of 50', width: () => 50 },
  { name: 'a chain', width: () => 1 },
  { name: 'a fan', width: (steps) => steps },
  // Each result is a turn of its own, while all the others are open: the worst case for code that looks at all of them.
  { name: 'a fan, one body at a time', width: (steps) => steps, single: true },
]

interface Sample {
  cpuMicrosPerStep: number
  msPerRun: number
  defineMs: number
}

interface Cell {
  shape: string
  steps: number
  samples: Sample[]
  noisy: boolean
}

async function main(): Promise<void> {
  if (options.help) return console.log(usage)
  const startedAt = new Date().toISOString()
  const name = `graphs-${startedAt.replaceAll(/[:.]/g, '-')}.json`
  const outFile = options.out ?? join(import.meta.dirname, 'results', name)
  const folder = mkdtempSync(join(process.env['BENCH_STATE'] ?? tmpdir(), 'pawl-bench-graphs-'))
  const cells = shapes.flatMap(({ name: shape }) =>
    sizes.map((steps): Cell => ({ shape, steps, samples: [], noisy: false })),
  )
  try {
    // The first round is for the compiler.
    for (let round = 0; round <= rounds; round++) {
      console.error(`round ${round}/${rounds}`)
      for (const cell of cells) await addSample(cell, folder, round)
      mkdirSync(dirname(outFile), { recursive: true })
      writeFileSync(outFile, `${JSON.stringify({ startedAt, cells }, null, 2)}\n`)
    }
    console.log(render(cells))
    console.error(`\nfigures: ${outFile}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function addSample(cell: Cell, folder: string, round: number): Promise<void> {
  const shape = shapes.find(({ name }) => name === cell.shape)
  if (!shape) throw new Error(`there is no shape '${cell.shape}'`)
  const place = `${shapes.indexOf(shape)}-${cell.steps}-${round}`
  const url = options.store ?? `sqlite:${join(folder, place)}.db`
  const { result, noisy } = await measureQuietly(rules, () => measure(shape, cell.steps, url))
  if (round === 0) return
  cell.samples.push(result)
  cell.noisy ||= noisy
}

async function measure(shape: Shape, steps: number, url: string): Promise<Sample> {
  const runs = Math.ceil(stepsMeasured / steps)
  const executions = new Executions(runs, steps)
  const defined = cpuMs()
  const definition = graphOf(shape.width(steps), steps, async (run, step) => {
    if (shape.single) await moment()
    executions.add(run, step)
  })
  const defineMs = cpuMs() - defined
  const engine = await open(url, { workflows: [definition] })
  try {
    await engine.work(shape.single ? { concurrency: { workflows: 1, activities: 1 } } : {}).ready
    const [begun, cpu] = [now(), cpuMs()]
    for (let run = 0; run < runs; run++) {
      if ((await engine.execute(definition, run)) !== steps) throw new Error('a wrong answer')
    }
    const [ms, used] = [now() - begun, cpuMs() - cpu]
    requireExactlyOnce(executions.tally(runs))
    return { cpuMicrosPerStep: (used * 1_000) / (runs * steps), msPerRun: ms / runs, defineMs }
  } finally {
    await engine.close()
  }
}

/** The compiler cannot follow names that are made in a loop. */
interface Builder {
  step(
    name: string,
    options: { readonly after: readonly string[] },
    handler: (ctx: { readonly input: number }) => Promise<number>,
  ): Builder
  output(fn: () => number): Workflow<number, number>
}

function graphOf(
  width: number,
  steps: number,
  body: (run: number, step: number) => Promise<void>,
): Workflow<number, number> {
  let built = graph<number>('graph') as unknown as Builder
  let before: readonly string[] = []
  for (let first = 0; first < steps; first += width) {
    const count = Math.min(width, steps - first)
    const layer = Array.from({ length: count }, (_, index) => first + index)
    for (const step of layer) {
      built = built.step(`s${step}`, { after: before }, async ({ input }) => {
        await body(input, step)
        return step
      })
    }
    before = layer.map((step) => `s${step}`)
  }
  return built.output(() => steps)
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function render(cells: readonly Cell[]): string {
  const columns = sizes.map((steps) => `${steps.toLocaleString('en')} steps`)
  const table = (show: (cell: Cell) => string): string[][] =>
    shapes.map(({ name }) => {
      const row = cells.filter(({ shape }) => shape === name)
      return [name, ...row.map((cell) => show(cell) + (cell.noisy ? '!' : '')), exponent(row)]
    })
  const cpu = table(({ samples }) => median(samples.map((each) => each.cpuMicrosPerStep)).toFixed(0))
  const ms = table(({ samples }) => median(samples.map((each) => each.msPerRun)).toFixed(0))
  const definitions = table(({ samples }) => median(samples.map((each) => each.defineMs)).toFixed(1))
  return [
    renderTable(['CPU µs per step', ...columns, 'growth of all steps'], cpu),
    '',
    renderTable(
      ['ms per run', ...columns],
      ms.map((line) => line.slice(0, -1)),
    ),
    '',
    renderTable(
      ['CPU ms to define it', ...columns],
      definitions.map((line) => line.slice(0, -1)),
    ),
  ].join('\n')
}

/** The slope of the CPU of a whole run over its steps, both as logarithms: 1 is linear. */
function exponent(row: readonly Cell[]): string {
  const points = row.map(({ steps, samples }) => {
    const perStep = median(samples.map((each) => each.cpuMicrosPerStep))
    return [Math.log(steps), Math.log(steps * perStep)] as const
  })
  const mean = (pick: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length
  const [meanX, meanY] = [mean(([x]) => x), mean(([, y]) => y)]
  const covariance = mean(([x, y]) => (x - meanX) * (y - meanY))
  return `n^${(covariance / mean(([x]) => (x - meanX) ** 2)).toFixed(2)}`
}

await main()
