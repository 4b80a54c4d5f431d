import { CancelledError, graph, PermanentError, RetryableError, RunError, signal, type Workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { waitsFor } from '../workflows/each-store.ts'
import { eventsOf, using, usingRealTime, ways } from './support.ts'

/** Never sent: a step that waits for it waits until the run is stopped. */
const go = signal('go')

type Outcome = 'success' | 'retryable' | 'permanent' | 'timeout' | 'cancelled'

interface Row {
  readonly outcome: Outcome
  readonly retriesLeft: boolean | undefined
  readonly compensation: boolean
  readonly status: 'completed' | 'failed' | 'cancelled'
}

// The eleven rows of the source's table. `retriesLeft` says whether the step may be tried once more.
const rows: readonly Row[] = [
  { outcome: 'success', retriesLeft: undefined, compensation: false, status: 'completed' },
  { outcome: 'retryable', retriesLeft: true, compensation: false, status: 'completed' },
  { outcome: 'retryable', retriesLeft: false, compensation: false, status: 'failed' },
  { outcome: 'retryable', retriesLeft: false, compensation: true, status: 'failed' },
  { outcome: 'permanent', retriesLeft: undefined, compensation: false, status: 'failed' },
  { outcome: 'permanent', retriesLeft: undefined, compensation: true, status: 'failed' },
  { outcome: 'timeout', retriesLeft: true, compensation: false, status: 'completed' },
  { outcome: 'timeout', retriesLeft: false, compensation: false, status: 'failed' },
  { outcome: 'timeout', retriesLeft: false, compensation: true, status: 'failed' },
  { outcome: 'cancelled', retriesLeft: undefined, compensation: true, status: 'cancelled' },
  { outcome: 'cancelled', retriesLeft: undefined, compensation: false, status: 'cancelled' },
]

/** A step that behaves as a row says, after one that can be undone, or cannot. */
function graphOf({ outcome, retriesLeft, compensation }: Row, log: string[]): Workflow<void, unknown> {
  const retry = { maxAttempts: retriesLeft ? 2 : 1, initial: '10ms' } as const
  const first = graph('row').step('reserve', () => {
    log.push('reserve')
    return { hold: 7 }
  })
  const reserved = compensation
    ? first.compensate(({ result }) => {
        log.push(`release ${result.hold}`)
      })
    : first
  return outcome === 'cancelled'
    ? reserved.wait('charge', { after: ['reserve'] }, go)
    : reserved.step('charge', { after: ['reserve'], retry, startToClose: '50ms' }, async ({ attempt }) => {
        log.push(`charge ${attempt}`)
        if (outcome === 'success' || attempt > 1) return 'charged'
        if (outcome === 'permanent') throw new PermanentError('no such card')
        if (outcome === 'timeout') await new Promise(() => {})
        throw new RetryableError('try again')
      })
}

describe.each(ways)('%s', (_, alwaysReplay) => {
  test.each(rows)('R6: $outcome, retries left $retriesLeft, compensation $compensation: $status', async (row) => {
    const log: string[] = []
    const definition = graphOf(row, log)
    // A body that never ends lets no virtual time pass.
    const open = row.outcome === 'timeout' ? usingRealTime : using
    await open([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      if (row.outcome === 'cancelled') {
        await waitsFor(run, 'signal')
        await run.cancel('refund asked for')
      }
      await run.result().catch(() => {})
      const { status, failure } = await run.describe()
      expect(status).toBe(row.status)
      const tries = row.outcome === 'cancelled' ? 0 : row.retriesLeft ? 2 : 1
      expect(log).toEqual([
        'reserve',
        ...Array.from({ length: tries }, (__, index) => `charge ${index + 1}`),
        ...(row.compensation ? ['release 7'] : []),
      ])
      const undone = (await eventsOf(run)).filter((event) => event.includes('ompensat') || event.includes('undo:'))
      expect(undone).toEqual(
        row.compensation
          ? ['CompensationBegan undo#1', 'StepStarted shield#1/undo:reserve#1', 'StepCompleted shield#1/undo:reserve#1']
          : [],
      )
      if (row.status === 'failed') {
        expect(failure?.cause?.type).toBe(
          { retryable: 'RetryableError', permanent: 'PermanentError', timeout: 'Timeout' }[
            row.outcome as 'retryable' | 'permanent' | 'timeout'
          ],
        )
      }
      if (row.status === 'cancelled') await expect(run.result()).rejects.toThrow(CancelledError)
    })
  })

  test('R7: what cannot be undone stops nobody, and the run says so', async () => {
    const log: string[] = []
    const undo =
      (name: string, works = true) =>
      async () => {
        log.push(`undo ${name}`)
        if (!works) throw new PermanentError(`${name} cannot be undone`)
      }
    const definition = graph('three')
      .step('a', () => 'a')
      .compensate(undo('a'))
      .step('b', { after: ['a'] }, () => 'b')
      .compensate(undo('b', false))
      .step('c', { after: ['b'] }, () => 'c')
      .compensate(undo('c'))
      .step('d', { after: ['c'] }, () => {
        throw new PermanentError('out of stock')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      const error = await run.result().catch((reason: unknown) => reason)
      expect(log).toEqual(['undo c', 'undo b', 'undo a'])
      expect(error).toBeInstanceOf(RunError)
      const { failure, compensationFailures } = error as RunError
      expect(failure.cause?.message).toBe('out of stock')
      expect(compensationFailures.map((each) => each.cause?.message)).toEqual(['b cannot be undone'])
      expect((await run.describe()).compensationFailures).toHaveLength(1)
    })
  })

  test('R7: steps are undone in the reverse order of their completion, not of their writing', async () => {
    const log: string[] = []
    const slow = async ({ signal: _ }: { signal: AbortSignal }) => 'slow'
    const definition = graph('order')
      .step('late', { delay: '10s' }, slow)
      .compensate(() => void log.push('late'))
      .step('early', () => 'early')
      .compensate(() => void log.push('early'))
      .step('fails', { after: ['late', 'early'] }, () => {
        throw new PermanentError('no')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await run.result().catch(() => {})
      expect(log).toEqual(['late', 'early'])
    })
  })

  test('R7: a step that says so is undone even if it failed itself', async () => {
    const log: unknown[] = []
    const definition = graph('own')
      .step('charge', { retry: 'none' }, (): string => {
        throw new Error('who knows what happened')
      })
      .compensate({ ownFailure: true }, ({ result }) => void log.push(result))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await run.result().catch(() => {})
      expect(log).toEqual([undefined])
    })
  })

  test('R7: a cancellation does not stop the undoing, and does not begin it twice', async () => {
    const log: string[] = []
    let failing = true
    const definition = graph('stubborn')
      .step('a', () => 'a')
      .compensate({ retry: { maxAttempts: 100, initial: '1m', factor: 1 } }, async () => {
        log.push('undo a')
        if (failing) throw new Error('not now')
      })
      .step('b', { after: ['a'], retry: 'none' }, () => {
        throw new Error('no')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await engine.clock.advance('90s')
      await run.cancel()
      await engine.clock.advance('1m')
      failing = false
      await expect(run.result()).rejects.toThrow(RunError)
      expect((await run.describe()).status).toBe('failed')
      expect((await eventsOf(run)).filter((each) => each.startsWith('StepStarted shield'))).toHaveLength(1)
    })
  })

  test('R7: a stuck compensation is settled by hand, and the rest goes on', async () => {
    const log: string[] = []
    const definition = graph('stuck')
      .step('a', () => 'a')
      .compensate(() => void log.push('undo a'))
      .step('b', { after: ['a'] }, () => 'b')
      .compensate({ retry: { maxAttempts: 1_000, initial: '1h' } }, () => {
        throw new Error('the other side is gone')
      })
      .step('c', { after: ['b'], retry: 'none' }, () => {
        throw new Error('no')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await engine.idle()
      expect(await run.why()).toMatchObject({ reason: 'backoff', step: 'shield#1/undo:b#1' })
      await run.resume({ step: 'undo b', result: null, note: 'done by phone' })
      await expect(run.result()).rejects.toThrow('no')
      expect(log).toEqual(['undo a'])
      expect((await run.describe()).compensationFailures).toBeUndefined()
    })
  })

  test('V9: a retry does again what was undone, under new keys, and not what still stands', async () => {
    const log: string[] = []
    let works = false
    const definition = graph('again')
      .step('kept', ({ idempotencyKey }) => void log.push(`kept ${idempotencyKey.slice(36)}`))
      .step(
        'reserve',
        { after: ['kept'] },
        ({ idempotencyKey }) => void log.push(`reserve ${idempotencyKey.slice(36)}`),
      )
      .compensate(() => void log.push('release'))
      .step('charge', { after: ['reserve'], retry: 'none' }, ({ idempotencyKey }) => {
        log.push(`charge ${idempotencyKey.slice(36)}`)
        if (!works) throw new Error('declined')
        return 'paid'
      })
      .output(({ results }) => results.charge)
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('declined')
      expect(log.splice(0)).toEqual([
        'kept :1:step:kept#1',
        'reserve :1:step:reserve#1',
        'charge :1:step:charge#1',
        'release',
      ])
      works = true
      await run.retry()
      expect(await run.result()).toBe('paid')
      expect(log).toEqual(['reserve :1:step:reserve#2', 'charge :1:step:charge#1'])
    })
  })

  test('R7: what was done in the very turn in which another failed is undone, with its result', async () => {
    const log: unknown[] = []
    const definition = graph('late')
      .step('bad', { retry: 'none' }, () => {
        throw new PermanentError('no')
      })
      .step('good', { retry: 'none' }, () => 'done')
      .compensate({ ownFailure: true }, ({ result }) => void log.push(result))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('no')
      const events = await eventsOf(run)
      const failed = events.indexOf('StepFailed step:bad#1')
      expect(events[failed + 1]).toBe('StepCompleted step:good#1')
      expect(log).toEqual(['done'])
    })
  })

  test('V9: what was undone although it had failed is begun anew, under another key', async () => {
    const log: string[] = []
    let works = false
    const definition = graph('own again')
      .each('all', { over: () => [1, 2], retry: 'none' }, ({ item, idempotencyKey }) => {
        log.push(idempotencyKey.slice(36))
        if (item === 2 && !works) throw new Error('declined')
      })
      .compensate({ ownFailure: true }, ({ idempotencyKey }) => {
        log.push(idempotencyKey.slice(36))
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      for (const round of [1, 2]) {
        await expect(run.result()).rejects.toThrow('declined')
        expect(log.splice(0)).toEqual([
          `:1:step:all#${round}[0]`,
          `:1:step:all#${round}[1]`,
          `:1:shield#1/undo:all#${round}`,
        ])
        works = round === 2
        await run.retry()
      }
      expect(await run.result()).toEqual({ all: [undefined, undefined] })
      expect(log).toEqual([':1:step:all#3[0]', ':1:step:all#3[1]'])
    })
  })

  test('V9: a step that was ruled out by how another ended is not, once that is undone', async () => {
    const log: string[] = []
    let first = true
    const definition = graph('ruled out')
      .step('reserve', { retry: 'none' }, () => {
        if (!first) throw new Error('sold out')
      })
      .compensate(() => void log.push('release'))
      .step('apologise', { after: ['reserve'], rule: 'oneFailed' }, () => void log.push('sorry'))
      .step('charge', { after: ['reserve'], retry: 'none' }, () => {
        throw new Error('declined')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('declined')
      expect(log.splice(0)).toEqual(['release'])
      first = false
      await run.retry()
      await expect(run.result()).rejects.toThrow('sold out')
      expect(log).toEqual(['sorry'])
    })
  })

  test('V9: the rest of a list waits until what it comes after, and was undone, is done again', async () => {
    const log: unknown[] = []
    let works = false
    const definition = graph('list again')
      .step('open', async ({ idempotencyKey }) => idempotencyKey.slice(-1))
      .compensate(() => void log.push('close'))
      .each('fill', { after: ['open'], over: () => ['x', 'y'], retry: 'none' }, ({ item, results }) => {
        log.push(`${item} ${results.open}`)
        if (item === 'y' && !works) throw new Error('full')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('full')
      expect(log.splice(0)).toEqual(['x 1', 'y 1', 'close'])
      works = true
      await run.retry()
      await run.result()
      expect(log).toEqual(['y 2'])
    })
  })

  test('R7: a crash before or after any turn of the undoing leaves each undone once, in order', async () => {
    const log: string[] = []
    const undo = (name: string) => (): void => void log.push(name)
    const definition = graph('crashes')
      .step('a', () => 'a')
      .compensate(undo('a'))
      .step('b', { after: ['a'] }, () => 'b')
      .compensate(undo('b'))
      .step('c', { after: ['b'] }, () => 'c')
      .compensate(undo('c'))
      .step('d', { after: ['c'], retry: 'none' }, () => {
        throw new Error('no')
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      for (let crash = 0; ; crash++) {
        log.length = 0
        const [turn, when] = [(crash >> 1) + 1, crash % 2 === 0 ? 'before' : 'after'] as const
        const met = engine.crashAtTurn(turn, when)
        const run = await engine.start(definition)
        await expect(run.result()).rejects.toThrow(RunError)
        const events = await eventsOf(run)
        // What is recorded of each undoing, once and in order; what ran may have run once more where it was not recorded.
        expect(events.filter((each) => each.startsWith('StepCompleted shield'))).toEqual([
          'StepCompleted shield#1/undo:c#1',
          'StepCompleted shield#1/undo:b#1',
          'StepCompleted shield#1/undo:a#1',
        ])
        expect([...new Set(log)]).toEqual(['c', 'b', 'a'])
        expect(log.length).toBeLessThanOrEqual(4)
        expect(events.at(-1)).toBe('RunFailed')
        if (!met()) {
          // The failing step, three undoings and the end: there were turns to die at.
          expect(crash).toBeGreaterThanOrEqual(10)
          break
        }
      }
    })
  })
})
