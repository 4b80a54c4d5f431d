import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { systemRandom } from '../runtime/random.ts'
import { MemoryStore } from '../stores/memory/store.ts'
import { StoreLine } from './store-line.ts'

const refusal = new PawlError('STORE_URL_INVALID', 'role "app" may not log in')
const outage = new PawlError('STORE_UNAVAILABLE', 'no answer')

function lineOf() {
  const clock = new VirtualClock()
  const lines: string[] = []
  const logger = {
    log: (level: string, message: string) => {
      lines.push(`${level}: ${message}`)
    },
  }
  const store = new MemoryStore({ clock })
  const ports = { store, clock, random: systemRandom, logger }
  return { clock, lines, line: new StoreLine('w', ports, new AbortController().signal) }
}

test('stores D1: a store that fails now and then is told of once, then rarely, and when it is over', async () => {
  const { clock, lines, line } = lineOf()
  for (let n = 0; n < 100; n++) {
    line.failed(refusal)
    await clock.advance(20)
    line.answered()
    await clock.advance(80)
  }
  expect(lines).toEqual([expect.stringMatching(/^error: .*keeps trying.*role "app"/)])
  await clock.advance(limits.outageToldEveryMs)
  line.failed(refusal)
  expect(lines).toHaveLength(2)
  for (let n = 0; n < 3; n++) {
    line.answered()
    await clock.advance(limits.outageOverAfterMs)
  }
  expect(lines.slice(2)).toEqual(['info: worker w can use its store again, after 70 s'])
})

test('faults 4.2: what is over before anybody is told is not told of', async () => {
  const { clock, lines, line } = lineOf()
  line.failed(outage)
  line.answered()
  await clock.advance(limits.outageOverAfterMs)
  line.answered()
  line.failed(outage)
  expect(lines).toEqual([])
  await clock.advance(limits.outageToldAfterMs)
  line.failed(outage)
  expect(lines).toEqual([expect.stringMatching(/^warn: .*no answer/)])
})
