// The command line of run.ts.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Adapter } from './adapter.ts'
import { adapters } from './adapters/index.ts'
import { hastyRules, patientRules, type QuietRules } from './quiet.ts'
import { fullSizes, type Sizes, smokeSizes, type Workload, workloads } from './workloads.ts'

export interface Options {
  rounds: number
  adapters: readonly Adapter[]
  workloads: readonly Workload[]
  sizes: Sizes
  quiet: QuietRules
  analyze: boolean
  outFile: string
}

export const usage = `node run.ts [options]
  --rounds <number>          rounds of every adapter in turn (5)
  --only <id,…>              these adapters; a prefix takes all its rows (dbos, pawl, …), dbos= only that one
  --workloads <W1,…>         these workloads (all)
  --sizes <W3=500,…>         other counts than the full ones
  --smoke                    one round, tiny sizes, no waiting for quiet: does everything work?
  --hasty                    do not wait for quiet nor measure again; noisy cells are still marked
  --analyze                  ANALYZE between start and drain in W3 and W5
  --out <file>               where the figures go (results/<time>.json)`

export function readOptions(words: readonly string[], startedAt: string): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      rounds: { type: 'string' },
      only: { type: 'string' },
      workloads: { type: 'string' },
      sizes: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      hasty: { type: 'boolean', default: false },
      analyze: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  })
  const name = `${startedAt.replaceAll(/[:.]/g, '-')}.json`
  return {
    rounds: wholeNumber(values.rounds ?? (values.smoke ? '1' : '5')),
    adapters: chooseAdapters(listOf(values.only)),
    workloads: values.workloads ? listOf(values.workloads).map(workloadNamed) : workloads,
    sizes: resize(values.smoke ? smokeSizes : fullSizes, listOf(values.sizes)),
    quiet: values.smoke || values.hasty ? hastyRules : patientRules,
    analyze: values.analyze,
    outFile: values.out ?? join(import.meta.dirname, 'results', name),
  }
}

function chooseAdapters(wanted: readonly string[]): readonly Adapter[] {
  if (wanted.length === 0) return adapters
  for (const name of wanted) {
    if (!adapters.some(({ id }) => isNamed(id, name))) {
      throw new Error(`no adapter '${name}'; there are ${adapters.map(({ id }) => id).join(', ')}`)
    }
  }
  return adapters.filter(({ id }) => wanted.some((name) => isNamed(id, name)))
}

const isNamed = (id: string, name: string): boolean =>
  name.endsWith('=') ? id === name.slice(0, -1) : id === name || id.startsWith(`${name}-`)

function resize(sizes: Sizes, changes: readonly string[]): Sizes {
  const resized = { ...sizes }
  for (const change of changes) {
    const [name = '', count = ''] = change.split('=')
    const workload = workloadNamed(name)
    resized[workload] = { ...resized[workload], count: wholeNumber(count) }
  }
  return resized
}

function workloadNamed(name: string): Workload {
  const found = workloads.find((workload) => workload === name)
  if (!found) throw new Error(`no workload '${name}'; there are ${workloads.join(', ')}`)
  return found
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new Error(`'${text}' is not a whole number`)
  return number
}

const listOf = (text = ''): string[] => text.split(',').filter((word) => word !== '')
