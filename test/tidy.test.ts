// The architecture and the house rules as a test. There are no waivers: change the rule (a visible
// diff to test/support/layers.ts or tidy-rules.ts) or change the code.

import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { importCycles, layerViolations } from './support/layers.ts'
import { parseSource, readRepository } from './support/source-files.ts'
import {
  exportViolations,
  portabilityViolations,
  proseViolations,
  shortcutViolations,
  sizeViolations,
  skippedTestViolations,
  worldViolations,
} from './support/tidy-rules.ts'

const repository = readRepository(fileURLToPath(new URL('..', import.meta.url)))
const sources = repository.filter(({ path }) => /\.tsx?$/.test(path)).map(parseSource)
const librarySources = sources.filter(({ path }) => /^(?:src|ui)\//.test(path))
const paths = new Set(repository.map(({ path }) => path))

test('tidy reads the repository', () => {
  expect(paths).toContain('package.json')
  expect(paths).toContain('.ci/run')
  expect(paths).toContain('test/tidy.test.ts')
  expect([...paths].filter((path) => /(?:^|\/)(?:node_modules|dist)\//.test(path))).toEqual([])
})

test('a layer imports only the layers below it', () => {
  expect(sources.flatMap(layerViolations)).toEqual([])
})

test('no files import each other in a circle', () => {
  expect(importCycles(librarySources)).toEqual([])
})

test('only runtime reads the clock, randomness and the environment', () => {
  expect(sources.flatMap(worldViolations)).toEqual([])
})

test('files and functions stay small', () => {
  expect(sources.flatMap(sizeViolations)).toEqual([])
})

test('prose is at most 120 columns wide, and ARCHITECTURE.md at most 200 lines long', () => {
  expect(repository.flatMap(proseViolations)).toEqual([])
})

test('nothing is left undone, untyped or silenced', () => {
  expect(sources.flatMap(shortcutViolations)).toEqual([])
})

test('every test runs', () => {
  expect(sources.flatMap(skippedTestViolations)).toEqual([])
})

test('no file names a package registry or a folder outside the repository', () => {
  expect(repository.flatMap(portabilityViolations)).toEqual([])
})

test('what package.json exports has a source', () => {
  const manifests = repository.filter(({ path }) => path === 'package.json')
  const violations = manifests.flatMap((file) => exportViolations(file, (path) => paths.has(path)))
  expect(violations).toEqual([])
})
