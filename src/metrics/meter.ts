// The values of metrics in memory. Labels are bounded: of each, the first so many values are told apart.
import { limits } from '../core/base/limits.ts'
import { type Family, families, type MetricName } from './families.ts'

export interface Distribution {
  /** By upper bound; the last is for what is above all bounds. */
  readonly counts: number[]
  sum: number
}
export type Sample = number | Distribution

/** Metrics as data: the values of each, by the values of its labels. */
export type MetricsSnapshot = Readonly<
  Record<string, readonly (readonly [labels: readonly string[], sample: Sample])[]>
>

const OTHER = 'other'

export class Meter {
  readonly #samples = new Map<MetricName, Map<string, readonly [labels: readonly string[], sample: Sample]>>()
  readonly #values = new Map<string, Set<string>>()

  add(name: MetricName, labels: readonly string[], by = 1): void {
    const [known, key, bounded] = this.#find(name, labels)
    this.#put(name, key, bounded, (typeof known === 'number' ? known : 0) + by)
  }

  set(name: MetricName, labels: readonly string[], value: number): void {
    const [, key, bounded] = this.#find(name, labels)
    this.#put(name, key, bounded, value)
  }

  observe(name: MetricName, labels: readonly string[], ms: number): void {
    const { buckets = [] }: Family = families[name]
    const [known, key, bounded] = this.#find(name, labels)
    const fresh = (): Distribution => ({ counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 })
    const sample = typeof known === 'object' ? known : fresh()
    const seconds = ms / 1_000
    const at = buckets.findIndex((bound) => seconds <= bound)
    const place = at < 0 ? buckets.length : at
    sample.counts[place] = (sample.counts[place] ?? 0) + 1
    sample.sum += seconds
    if (typeof known !== 'object') this.#put(name, key, bounded, sample)
  }

  /** The value of a counter or gauge. */
  read(name: MetricName, labels: readonly string[]): number | undefined {
    const known = this.#samples.get(name)?.get(JSON.stringify(labels))?.[1]
    return typeof known === 'number' ? known : undefined
  }

  /** Forgets a gauge, before its values are read again. */
  clear(name: MetricName): void {
    this.#samples.delete(name)
  }

  snapshot(): MetricsSnapshot {
    return Object.fromEntries([...this.#samples].map(([name, samples]) => [name, [...samples.values()]]))
  }

  #put(name: MetricName, key: string, labels: readonly string[], sample: Sample): void {
    const samples = this.#samples.get(name)
    if (samples) samples.set(key, [labels, sample])
    else this.#samples.set(name, new Map([[key, [labels, sample]]]))
  }

  #find(
    name: MetricName,
    given: readonly string[],
  ): readonly [sample: Sample | undefined, key: string, labels: readonly string[]] {
    const { labels: names }: Family = families[name]
    const labels = given.map((value, at) => this.#bounded(names[at] ?? '', value))
    const key = JSON.stringify(labels)
    return [this.#samples.get(name)?.get(key)?.[1], key, labels]
  }

  #bounded(label: string, value: string): string {
    const values = this.#values.get(label) ?? new Set<string>()
    if (values.has(value)) return value
    if (values.size >= limits.metricLabelValues) return OTHER
    this.#values.set(label, values.add(value))
    return value
  }
}

/** The metrics of several processes as one: numbers of a counter add up, and of a gauge the largest counts. */
export function merged(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  const found: Record<string, Map<string, readonly [readonly string[], Sample]>> = {}
  for (const snapshot of snapshots) {
    for (const [name, samples] of Object.entries(snapshot)) {
      const isGauge = name in families && families[name as MetricName].type === 'gauge'
      const all = (found[name] ??= new Map())
      for (const [labels, sample] of samples) {
        const key = JSON.stringify(labels)
        const known = all.get(key)?.[1]
        all.set(key, [labels, known === undefined ? copyOf(sample) : joined(known, sample, isGauge)])
      }
    }
  }
  return Object.fromEntries(Object.entries(found).map(([name, samples]) => [name, [...samples.values()]]))
}

/** The part of a snapshot that stays true when its process has ended. */
export function totalsOf(snapshot: MetricsSnapshot): MetricsSnapshot {
  const isTotal = (name: string): boolean => {
    const type = name in families ? families[name as MetricName].type : 'gauge'
    return type === 'counter' || type === 'histogram'
  }
  return Object.fromEntries(Object.entries(snapshot).filter(([name]) => isTotal(name)))
}

function copyOf(sample: Sample): Sample {
  return typeof sample === 'number' ? sample : { counts: [...sample.counts], sum: sample.sum }
}

function joined(one: Sample, other: Sample, isGauge: boolean): Sample {
  if (typeof one === 'number' && typeof other === 'number') return isGauge ? Math.max(one, other) : one + other
  if (typeof one === 'number' || typeof other === 'number') return one
  return { counts: one.counts.map((count, at) => count + (other.counts[at] ?? 0)), sum: one.sum + other.sum }
}
