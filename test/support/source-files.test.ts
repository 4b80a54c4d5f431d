// Tests that the tidy rules find what they forbid and accept what they allow, on source texts.

import { describe, expect, test } from 'vitest'
import { importCycles, layerViolations } from './layers.ts'
import { importsOf, parseIgnoreFile, parseSource, type SourceFile } from './source-files.ts'
import {
  exportViolations,
  portabilityViolations,
  proseViolations,
  shortcutViolations,
  sizeViolations,
  skippedTestViolations,
  worldViolations,
} from './tidy-rules.ts'

function source(path: string, text: string): SourceFile {
  return parseSource({ path, text })
}

describe('imports', () => {
  test('every form of import is seen', () => {
    const file = source(
      'src/kernel/a.ts',
      [
        `import x, { one as uno } from './one.ts'`,
        `import type { Two } from './two.ts'`,
        `export { three } from './three.ts'`,
        `export * from './four.ts'`,
        `const five = await import('./five.ts')`,
        `type Six = import('./six.ts').Six`,
        `const no = "import './seven.ts'" // import './eight.ts'`,
      ].join('\n'),
    )
    expect(importsOf(file)).toEqual([
      { specifier: './one.ts', names: ['default', 'one'], line: 1 },
      { specifier: './two.ts', names: ['Two'], line: 2 },
      { specifier: './three.ts', names: ['three'], line: 3 },
      { specifier: './four.ts', names: ['*'], line: 4 },
      { specifier: './five.ts', names: ['*'], line: 5 },
      { specifier: './six.ts', names: ['*'], line: 6 },
    ])
  })

  test('text that does not parse is an error, not a file without imports', () => {
    expect(() => source('src/kernel/a.ts', 'const = 1')).toThrow(/does not parse/)
  })
})

describe('layers', () => {
  test.each([
    ['src/core/kernel/a.ts', '../runtime/clock.ts', 'core/kernel may not import src/core/runtime/clock.ts'],
    ['src/core/policies/a.ts', '../definitions/b.ts', 'core/policies may not import'],
    ['src/core/definitions/a.ts', '../deciders/b.ts', 'core/definitions may not import'],
    ['src/core/deciders/job/a.ts', '../../policies/b.ts', 'core/deciders may not import'],
    ['src/core/runtime/a.ts', '../telemetry/b.ts', 'core/runtime may not import'],
    ['src/core/telemetry/a.ts', '../stores/store.ts', 'core/telemetry may not import'],
    ['src/core/stores/memory/a.ts', '../../worker/b.ts', 'core/stores may not import'],
    ['src/core/worker/a.ts', '../stores/memory/index.ts', 'core/worker may not import'],
    ['src/core/client/a.ts', '../worker/worker.ts', 'core/client may not import'],
    ['src/core/telemetry/b.ts', '../policies/retry.ts', 'core/telemetry may not import'],
    ['src/index.ts', './testing/index.ts', 'index.ts may not import'],
    ['src/engine.ts', './cli/main.ts', 'engine.ts may not import'],
    ['src/cli/main.ts', '../testing/index.ts', 'cli may not import'],
    ['src/core/worker/a.ts', '../../index.ts', 'core/worker may not import'],
    ['src/core/worker/a.ts', '../../../test/database.ts', 'src may not import'],
    ['src/core/worker/a.ts', './b.test.ts', 'is a test'],
    ['src/core/worker/a.ts', '../../addons/handlers/index.ts', 'core/worker may not import'],
    ['src/stores/sqlite/a.ts', '../../core/stores/store.ts', 'stores/sqlite may not import'],
    ['src/stores/sqlite/a.ts', '../postgres/store.ts', 'stores/sqlite may not import'],
    ['src/addons/handlers/a.ts', '../../core/worker/worker.ts', 'addons/handlers may not import'],
    ['src/helpers/a.ts', './b.ts', 'helpers is not in the layer table'],
    ['src/core/worker/a.ts', 'pawl/store', 'this is pawl'],
    ['src/core/kernel/a.ts', 'commander', 'core/kernel may import nothing'],
    ['src/core/kernel/a.ts', 'node:fs', 'core/kernel may not import node:fs'],
    ['src/core/policies/a.ts', 'fs', 'core/policies may not import node:fs'],
    ['src/core/definitions/a.ts', 'node:async_hooks', 'core/definitions may not import node:async_hooks'],
    ['src/core/deciders/a.ts', 'node:crypto', 'core/deciders may not import x from node:crypto'],
  ])('%s may not import %s', (path, specifier, problem) => {
    const file = source(path, `import { x } from '${specifier}'`)
    expect(layerViolations(file)).toEqual([expect.stringContaining(problem)])
    const typeOnly = source(path, `import type { x } from '${specifier}'`)
    expect(layerViolations(typeOnly)).toHaveLength(1)
  })

  test.each([
    ['src/core/kernel/a.ts', `import { b } from './b.ts'`],
    ['src/core/base/a.ts', `import { createHash } from 'node:crypto'`],
    ['src/core/deciders/a.ts', `import { AsyncLocalStorage } from 'node:async_hooks'`],
    ['src/core/worker/a.ts', `import type { Store } from '../stores/store.ts'`],
    ['src/stores/sqlite/a.ts', `import { DatabaseSync } from 'node:sqlite'`],
    ['src/stores/sqlite/a.ts', `import type { Store } from '../../core/stores/driver.ts'`],
    ['src/addons/handlers/a.ts', `import { activity } from '../../core/index.ts'`],
    ['src/cli/main.ts', `import { Command } from 'commander'\nimport { x } from '../index.ts'`],
    ['src/testing/a.ts', `import { main } from '../cli/main.ts'`],
    ['src/core/kernel/a.test.ts', `import { clock } from '../testing/index.ts'`],
  ])('%s may have %s', (path, text) => {
    expect(layerViolations(source(path, text))).toEqual([])
  })
})

describe('cycles', () => {
  test('a cycle through a type-only import is found once, wherever the search begins', () => {
    const files = [
      source('src/kernel/c.ts', `import type { a } from './a.ts'`),
      source('src/kernel/a.ts', `import { b } from './b.ts'`),
      source('src/kernel/b.ts', `export * from './c.ts'`),
    ]
    const cycle = ['src/kernel/a.ts', 'src/kernel/b.ts', 'src/kernel/c.ts']
    expect(importCycles(files)).toEqual([cycle])
    expect(importCycles(files.toReversed())).toEqual([cycle])
  })

  test('a file that imports itself is a cycle; a diamond is not', () => {
    expect(importCycles([source('src/a.ts', `import './a.ts'`)])).toEqual([['src/a.ts']])
    const diamond = [
      source('src/a.ts', `import './b.ts'\nimport './c.ts'`),
      source('src/b.ts', `import './d.ts'`),
      source('src/c.ts', `import './d.ts'`),
      source('src/d.ts', ''),
    ]
    expect(importCycles(diamond)).toEqual([])
  })
})

describe('the clock, randomness and the environment', () => {
  const reads = [
    'Date.now()',
    `Date['now']()`,
    'globalThis.Date.now()',
    'new Date()',
    'new Date',
    'Date()',
    'performance.now()',
    'Math.random()',
    'randomUUID()',
    'crypto.randomUUID()',
    'randomBytes(8)',
    'crypto.getRandomValues(new Uint8Array(1))',
    'setTimeout(run, 1)',
    'globalThis.setTimeout(run, 1)',
    'setInterval(run, 1)',
    'setImmediate(run)',
    'process.hrtime.bigint()',
    'AbortSignal.timeout(1)',
    'const wait = setTimeout',
    `import { setTimeout as sleep } from 'node:timers/promises'`,
    `import timers from 'node:timers'`,
    `import { randomUUID as id } from 'node:crypto'`,
  ]

  test.each(reads)('%s belongs to runtime', (text) => {
    for (const path of ['src/worker/a.ts', 'src/cli/main.ts', 'src/testing/a.ts', 'src/index.ts']) {
      expect(worldViolations(source(path, text)), path).not.toEqual([])
    }
    for (const path of ['src/core/runtime/clock.ts', 'src/worker/a.test.ts', 'test/a.ts']) {
      expect(worldViolations(source(path, text)), path).toEqual([])
    }
  })

  test.each(['process.env.HOME', `process['env']`, `import { env } from 'node:process'`])(
    '%s is for runtime and the command line',
    (text) => {
      expect(worldViolations(source('src/stores/a.ts', text))).toHaveLength(1)
      expect(worldViolations(source('src/cli/main.ts', text))).toEqual([])
      expect(worldViolations(source('src/core/runtime/a.ts', text))).toEqual([])
    },
  )

  test('parameters, texts and comments that only look alike are left alone', () => {
    const text = [
      'const at = new Date(clock.now())',
      'const shown: Date = at',
      '// Date.now() is not called here',
      'const label = `setTimeout ${random.next()} Math.random()`',
    ].join('\n')
    expect(worldViolations(source('src/worker/a.ts', text))).toEqual([])
  })
})

describe('sizes', () => {
  const block = (lines: number) => `{\n${'  step()\n'.repeat(lines - 2)}}`

  test('a file has at most 500 lines', () => {
    expect(sizeViolations(source('src/a.ts', 'step()\n'.repeat(500)))).toEqual([])
    expect(sizeViolations(source('src/a.ts', 'step()\n'.repeat(501)))).toHaveLength(1)
  })

  test.each([
    ['function', (body: string) => `function run() ${body}`],
    ['arrow', (body: string) => `const run = () => ${body}`],
    ['method', (body: string) => `class Engine { run() ${body} }`],
    ['test', (body: string) => `test('name', () => ${body})`],
  ])('a %s has at most 70 lines', (_, wrap) => {
    expect(sizeViolations(source('src/a.ts', wrap(block(70))))).toEqual([])
    expect(sizeViolations(source('src/a.ts', wrap(block(71))))).toHaveLength(1)
  })

  test('a describe block is a chapter, not a function', () => {
    const chapter = `describe.each([1])('name', () => ${block(200)})`
    expect(sizeViolations(source('src/a.test.ts', chapter))).toEqual([])
  })
})

describe('prose', () => {
  const wide = 'ä'.repeat(121)

  test.each(['README.md', 'CHANGELOG.md', 'docs/README.md', 'docs/guides/workflows.md'])(
    'a line of %s has at most 120 columns',
    (path) => {
      const text = `# Title\n\n${wide}\n`
      expect(proseViolations({ path, text })).toEqual([`${path}:3: 121 columns, at most 120`])
      expect(proseViolations({ path, text: text.replace('ä', '') })).toEqual([])
    },
  )

  test('code blocks and table rows may be wider; the line after them may not', () => {
    const text = `| ${wide} |\n\n1. Run it:\n\n   \`\`\`sh\n   ${wide}\n   \`\`\`\n${wide}\n`
    expect(proseViolations({ path: 'CONTRIBUTING.md', text })).toHaveLength(1)
    expect(proseViolations({ path: 'CONTRIBUTING.md', text })[0]).toMatch(/^CONTRIBUTING\.md:8:/)
  })

  test('only the documentation is prose', () => {
    for (const path of ['bench/README.md', 'src/a.ts', 'docs/reference/graph.schema.json'])
      expect(proseViolations({ path, text: wide })).toEqual([])
  })

  test('ARCHITECTURE.md has at most 200 lines', () => {
    const path = 'ARCHITECTURE.md'
    expect(proseViolations({ path, text: 'line\n'.repeat(200) })).toEqual([])
    expect(proseViolations({ path, text: 'line\n'.repeat(201) })).toHaveLength(1)
    expect(proseViolations({ path: 'README.md', text: 'line\n'.repeat(201) })).toEqual([])
  })
})

describe('shortcuts', () => {
  test.each([
    '// TODO later',
    '/* FIXME */',
    '// @ts-ignore',
    '// @ts-nocheck',
    '// @ts-expect-error',
    '// biome-ignore format: no',
    '// oxlint-disable-next-line',
    'let a: any',
    'let a = b as any',
    'let a: Map<string, any[]>',
  ])('%s is refused', (text) => {
    expect(shortcutViolations(source('src/a.ts', text))).toHaveLength(1)
  })

  test('words in texts and names are not shortcuts, and type tests may expect errors', () => {
    const text = `const todo = 'TODO: any'\nconst any = Promise.any(todos)`
    expect(shortcutViolations(source('src/a.ts', text))).toEqual([])
    const typeTest = '// @ts-expect-error: an input is required'
    expect(shortcutViolations(source('test/types/a.test.ts', typeTest))).toEqual([])
  })

  test.each(['test.only', 'it.skip', 'describe.only', 'test.todo', 'test.concurrent.skip'])('%s is refused', (call) => {
    expect(skippedTestViolations(source('a.test.ts', `${call}('x', () => {})`))).toHaveLength(1)
    expect(skippedTestViolations(source('a.test.ts', `list.skip(1); '${call}'`))).toEqual([])
  })
})

describe('portability', () => {
  test.each([
    ['https://registry.', 'npmjs.org/x'],
    ['http://deb.', 'debian.org/debian'],
    ['import("../', 'shared/x.ts")'],
  ])('%s%s is refused', (...halves) => {
    const text = `first line\n${halves.join('')}`
    expect(portabilityViolations({ path: 'README.md', text })).toEqual([expect.stringContaining('README.md:2')])
  })

  test('what package.json names must have a source', () => {
    const text = JSON.stringify({
      bin: { pawl: './dist/cli/main.js' },
      exports: {
        '.': { types: './dist/index.d.ts', default: './dist/index.js' },
        './package.json': './package.json',
      },
    })
    const manifest = { path: 'package.json', text }
    expect(exportViolations(manifest, () => true)).toEqual([])
    expect(exportViolations(manifest, (path) => path !== 'src/index.ts')).toHaveLength(1)
    expect(exportViolations(manifest, () => false)).toHaveLength(3)
  })

  test('ignored files are not ours to judge', () => {
    const ignored = parseIgnoreFile('node_modules\n# why\n*.db\nbench/results/\n')
    expect(ignored('node_modules/')).toBe(true)
    expect(ignored('node_modules')).toBe(true)
    expect(ignored('bench/node_modules/')).toBe(true)
    expect(ignored('bench/results/')).toBe(true)
    expect(ignored('a.db')).toBe(true)
    expect(ignored('src/')).toBe(false)
    expect(() => parseIgnoreFile('!kept')).toThrow(/does not know/)
  })
})
