// Metrics as Prometheus reads them: the text format, version 0.0.4.
import { type Family, families, type MetricName } from './families.ts'
import type { MetricsSnapshot, Sample } from './meter.ts'

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsText(snapshot: MetricsSnapshot): string {
  const lines: string[] = []
  for (const [name, family] of Object.entries(families) as [MetricName, Family][]) {
    const samples = snapshot[name]
    if (!samples || samples.length === 0) continue
    lines.push(`# HELP ${name} ${family.help}`, `# TYPE ${name} ${family.type}`)
    for (const [labels, sample] of samples) lines.push(...linesOf(name, family, { labels, sample }))
  }
  return lines.map((line) => `${line}\n`).join('')
}

function linesOf(
  name: string,
  { labels: names, buckets = [], type }: Family,
  { labels, sample }: { readonly labels: readonly string[]; readonly sample: Sample },
): string[] {
  const pairs = names.map((label, at) => [label, labels[at] ?? ''] as const)
  if (typeof sample === 'number') {
    // Of a summary, the sum and the number have no quantile.
    const [only] = labels
    if (type === 'summary' && (only === 'sum' || only === 'count')) return [`${name}_${only} ${sample}`]
    return [`${name}${labelled(pairs)} ${sample}`]
  }
  let count = 0
  const lines = sample.counts.map((each, at) => {
    count += each
    const bound = buckets[at]
    return `${name}_bucket${labelled([...pairs, ['le', bound === undefined ? '+Inf' : String(bound)]])} ${count}`
  })
  return [...lines, `${name}_sum${labelled(pairs)} ${sample.sum}`, `${name}_count${labelled(pairs)} ${count}`]
}

function labelled(pairs: readonly (readonly [label: string, value: string])[]): string {
  return pairs.length === 0 ? '' : `{${pairs.map(([label, value]) => `${label}="${escaped(value)}"`).join(',')}}`
}

function escaped(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
