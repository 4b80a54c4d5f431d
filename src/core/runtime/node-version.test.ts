import { expect, test } from 'vitest'
import { nodeProblem } from './node-version.ts'

test('users D7: an old Node is told, by the library as by the command line', () => {
  expect(nodeProblem('20.20.1')).toBe('pawl needs Node 24 or newer; this is Node 20.20.1.')
  expect(nodeProblem('24.0.0')).toBeUndefined()
  expect(nodeProblem()).toBeUndefined()
})
