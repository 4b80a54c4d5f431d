// The dashboard, the alerts and the docs name the metrics that there are, and all of them.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Family, families } from '../../src/metrics/families.ts'
import { promtool } from './scrape.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../../docs/operations/${name}`, import.meta.url))
const read = (name: string): string => readFileSync(pathOf(name), 'utf8')
const all = Object.entries(families) as [string, Family][]

/** The metrics that a text names, with the labels it uses. */
function metricsIn(text: string): string[] {
  return [...new Set(text.match(/\bpawl_[a-z0-9_]+/g) ?? [])].map(familyOf)
}

/** A histogram has three series, and a summary two besides its own. */
function familyOf(series: string): string {
  if (series in families) return series
  return series.replace(/_(?:bucket|sum|count)$/, '')
}

function expressions(): string[] {
  const { panels } = JSON.parse(read('grafana-dashboard.json')) as {
    panels: readonly { targets?: readonly { expr: string }[] }[]
  }
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const { groups } = parse(read('alerts.yaml')) as { groups: readonly { rules: readonly { expr: string }[] }[] }
  return [...shown, ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr))]
}

describe('O7: metrics', () => {
  test('every expression names metrics and labels that exist, and the dashboard shows every metric', () => {
    for (const expr of expressions()) {
      const named = metricsIn(expr)
      expect([expr, named.filter((name) => !(name in families))]).toEqual([expr, []])
      const labels = new Set(named.flatMap((name) => families[name as keyof typeof families].labels as string[]))
      const used = [...expr.matchAll(/by \(([^)]*)\)|[{,]\s*([a-z]+)=~?"/g)].flatMap(([, by, one]) =>
        by === undefined ? [one ?? ''] : by.split(',').map((each) => each.trim()),
      )
      const unknown = used.filter(
        (label) => label !== '' && label !== 'le' && label !== 'instance' && !labels.has(label),
      )
      expect([expr, unknown]).toEqual([expr, []])
    }
    const missing = all
      .map(([name]) => name)
      .filter((name) => !metricsIn(read('grafana-dashboard.json')).includes(name))
    expect(missing).toEqual([])
  })

  test('the table in the docs has every metric, with its labels', () => {
    const rows = [...read('telemetry.md').matchAll(/^\| `(pawl_\w+)` \| (\w+) \| ([^|]*) \|/gm)]
    const found = rows.map(([, name = '', type = '', labels = '']) => [name, type, labels.trim()])
    const expected = all.map(([name, { type, labels }]) => [name, type, labels.map((each) => `\`${each}\``).join(', ')])
    expect(found).toEqual(expected)
  })

  test('promtool accepts the rules', () => {
    expect(promtool(['check', 'rules', pathOf('alerts.yaml')])).toContain('SUCCESS')
  })
})
