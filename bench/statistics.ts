export interface Summary {
  samples: number
  p50: number
  p99: number
  mean: number
}

export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((left, right) => left - right)
  const sum = sorted.reduce((total, sample) => total + sample, 0)
  return {
    samples: sorted.length,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    mean: sum / sorted.length,
  }
}

export function median(samples: readonly number[]): number {
  const sorted = samples.filter(Number.isFinite).toSorted((left, right) => left - right)
  const low = sorted[(sorted.length - 1) >> 1]
  const high = sorted[sorted.length >> 1]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}

function quantile(sorted: readonly number[], fraction: number): number {
  const index = Math.ceil(fraction * sorted.length) - 1
  return sorted[Math.max(0, index)] ?? Number.NaN
}
