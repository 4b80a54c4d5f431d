// One project for each kind of test, so that `vitest run --project crash` runs one of them. The root
// global set-up runs once for them all. Only tests see the aliases: users get the built package.

import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

const longProjects = ['simulation', 'crash', 'load'] as const
const packageTest = 'test/package.test.ts'

// Tests start hundreds of processes of this source. Each would strip the types and compile it again, which is three
// quarters of what it takes to start one.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url))

const entryPoints = {
  pawl: 'index.ts',
  'pawl/client': 'remote/index.ts',
  'pawl/codecs': 'addons/codecs/index.ts',
  'pawl/handlers': 'addons/handlers/index.ts',
  'pawl/otel': 'otel/index.ts',
  'pawl/testing': 'testing/index.ts',
  'pawl/store': 'core/stores/index.ts',
  'pawl/postgres': 'stores/postgres/index.ts',
  'pawl/server': 'server/index.ts',
  'pawl/sqlite': 'stores/sqlite/index.ts',
} as const

export default defineConfig({
  resolve: {
    alias: Object.entries(entryPoints).map(([name, file]) => ({
      find: new RegExp(`^${name}$`),
      replacement: fileURLToPath(new URL(`src/${file}`, import.meta.url)),
    })),
  },
  test: {
    globalSetup: ['test/support/global-postgres.ts', 'test/support/global-radosgw.ts'],
    pool: 'forks',
    // One more than CI has cores: much of what the tests do is to wait for servers and timers.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    exclude: [...configDefaults.exclude, 'dist/**', 'bench/**'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...[...longProjects, 'ui', 'releases'].map((name) => `test/${name}/**`), packageTest],
        },
      },
      ...longProjects.map((name) => ({ test: { name, include: [`test/${name}/**/*.test.ts`] } })),
      // Needs a browser and the built UI.
      { test: { name: 'ui', include: ['test/ui/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 300_000 } },
      // Needs a build, and the history of the repository, which a shallow clone lacks: not a stage of `npm test`.
      { test: { name: 'releases', include: ['test/releases/**/*.test.ts'], hookTimeout: 300_000 } },
      // Needs a build, so it is not a unit test.
      { test: { name: 'package', include: [packageTest] } },
    ],
  },
})
