// What telemetry costs: W3, a backlog of runs with three steps each, without a listener and with listeners, metrics and
// OpenTelemetry. The four take turns within each round, so that drift of the machine meets all of them. CPU is the
// process's own, so that figures mean something on a busy machine. Spans are made and thrown away: what an exporter
// costs is its own matter.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { activity, type Engine, metrics, type OpenOptions, open, workflow } from 'pawl'
import { otel, pawlIdGenerator } from 'pawl/otel'
import { Executions, requireExactlyOnce } from './executions.ts'
import { hastyRules, measureQuietly, patientRules } from './quiet.ts'
import { renderTable } from './report.ts'
import { median } from './statistics.ts'
import { now } from './time.ts'
import { fullSizes, smokeSizes } from './workloads.ts'

const usage = `node telemetry.ts [options]
  --store <url>  this store instead of SQLite; an empty one
  --rounds <n>   how often each is measured; the table has medians (9)
  --smoke        tiny sizes: does everything work?
  --hasty        do not wait for quiet nor measure again; noisy figures are still marked
  --out <file>   where the figures go (results/telemetry-<time>.json)`

const { values: options } = parseArgs({
  options: {
    store: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    smoke: { type: 'boolean', default: false },
    hasty: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const rules = options.smoke || options.hasty ? hastyRules : patientRules
const rounds = options.smoke ? 1 : Number(options.rounds)
const { count: runs, bodies } = options.smoke ? smokeSizes.W3 : fullSizes.W3

interface Variant {
  readonly name: string
  readonly options?: () => OpenOptions
  readonly begin?: (engine: Engine) => () => void
}

const variants: readonly Variant[] = [
  { name: 'nothing' },
  { name: 'a listener', options: () => ({ listeners: [() => {}] }) },
  {
    name: 'metrics',
    begin: (engine) => {
      const counted = metrics(engine)
      return () => counted.close()
    },
  },
  { name: 'OpenTelemetry', options: tracing },
]

interface Sample {
  readonly cpuMicrosPerRun: number
  readonly runsPerSecond: number
}

interface Cell {
  readonly variant: string
  readonly samples: Sample[]
  noisy: boolean
}

async function main(): Promise<void> {
  if (options.help) return console.log(usage)
  const startedAt = new Date().toISOString()
  const name = `telemetry-${startedAt.replaceAll(/[:.]/g, '-')}.json`
  const outFile = options.out ?? join(import.meta.dirname, 'results', name)
  const folder = mkdtempSync(join(process.env['BENCH_STATE'] ?? tmpdir(), 'pawl-bench-telemetry-'))
  const cells = variants.map((each): Cell => ({ variant: each.name, samples: [], noisy: false }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  try {
    // The first round is for the compiler.
    for (let round = 0; round <= rounds; round++) {
      console.error(`round ${round}/${rounds}`)
      for (const [index, variant] of variants.entries()) {
        const url = options.store ?? `sqlite:${join(folder, `${index}-${round}`)}.db`
        const { result, noisy } = await measureQuietly(rules, () => measure(variant, url))
        const cell = cells[index]
        if (round === 0 || !cell) continue
        cell.samples.push(result)
        cell.noisy ||= noisy
      }
      mkdirSync(dirname(outFile), { recursive: true })
      writeFileSync(outFile, `${JSON.stringify({ startedAt, runs, bodies, cells }, null, 2)}\n`)
    }
    console.log(render(cells))
    console.error(`\nfigures: ${outFile}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure({ options: more, begin }: Variant, url: string): Promise<Sample> {
  const executions = new Executions(runs, bodies)
  const count = activity('count', async ({ run, step }: { run: number; step: number }) => executions.add(run, step))
  const chain = workflow('chain', async (ctx, run: number) => {
    for (let step = 0; step < bodies; step++) await ctx.run(count, { run, step })
    return bodies
  })
  const engine = await open(url, { workflows: [chain], activities: [count], ...more?.() })
  const end = begin?.(engine)
  try {
    const started = await engine.startMany(
      chain,
      Array.from({ length: runs }, (_, input) => ({ input })),
    )
    const [begun, cpu] = [now(), cpuMs()]
    engine.work({ signals: false })
    for (const run of started) await run.result()
    const [ms, used] = [now() - begun, cpuMs() - cpu]
    requireExactlyOnce(executions.tally(runs))
    return { cpuMicrosPerRun: (used * 1_000) / runs, runsPerSecond: (runs * 1_000) / ms }
  } finally {
    end?.()
    await engine.close()
  }
}

function tracing(): OpenOptions {
  const nowhere: SpanProcessor = {
    onStart: () => {},
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new BasicTracerProvider({ idGenerator: pawlIdGenerator(), spanProcessors: [nowhere] })
  return otel({ tracer: provider.getTracer('bench') })
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function render(cells: readonly Cell[]): string {
  const cpuOf = ({ samples }: Cell): number => median(samples.map((each) => each.cpuMicrosPerRun))
  const [first] = cells
  const base = first ? cpuOf(first) : Number.NaN
  const lines = cells.map((cell) => {
    const rate = median(cell.samples.map((each) => each.runsPerSecond))
    const more = `${((cpuOf(cell) / base - 1) * 100).toFixed(1)} %`
    return [cell.variant + (cell.noisy ? '!' : ''), cpuOf(cell).toFixed(0), more, rate.toFixed(0)]
  })
  return renderTable(['W3 with', 'CPU µs per run', 'more than nothing', 'runs per second'], lines)
}

await main()
