// ctx.saga where it is not alone: beside other branches, in other structures, and when the run continues as new.
import { signal, update, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { using, ways } from '../graphs/support.ts'

const go = signal('go')

describe.each(ways)('%s', (_, alwaysReplay) => {
  const log = new Set<string>()
  const noted = (text: string) => (): void => void log.add(text)

  test('R7: what is done beside a failure, after it, is undone, too', async () => {
    log.clear()
    const definition = workflow('beside', async (ctx) => {
      const saga = ctx.saga(async (inner) => {
        const slow = async () => {
          await inner.sleep('10s')
          await inner.run('slow', noted('slow'))
          inner.compensate(async (undo) => void (await undo.run('undo slow', noted('undo slow'))))
        }
        const fails = inner.run('fails', { retry: 'none' }, () => {
          throw new Error('no')
        })
        await Promise.all([slow(), fails])
      })
      await saga.catch(() => {})
      await ctx.sleep('1m')
    })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await run.result()
      expect([...log]).toEqual(['slow', 'undo slow'])
    })
  })

  test('R7: a saga that continues as new has not failed', async () => {
    log.clear()
    const definition = workflow('rounds', async (ctx, round: number): Promise<number> => {
      await ctx.saga(async (inner) => {
        await inner.run('work', noted(`work ${round}`))
        inner.compensate(async (undo) => void (await undo.run('undo', noted(`undo ${round}`))))
        if (round < 2) ctx.continueAsNew(round + 1)
      })
      return round
    })
    await using([definition], { alwaysReplay }, async (engine) => {
      expect(await engine.execute(definition, 1)).toBe(2)
      expect([...log]).toEqual(['work 1', 'work 2'])
    })
  })

  test('R7: nested, cancelled twice, with an undoing that takes a day and starts a child', async () => {
    log.clear()
    const child = workflow('child', (ctx) => ctx.run('child', noted('child')))
    const definition = workflow('nested', (ctx) =>
      ctx.saga(async (outer) => {
        await outer.run('a', noted('a'))
        outer.compensate(async (undo) => {
          await undo.sleep('1d')
          await undo.child(child)
          await undo.run('undo a', noted('undo a'))
        })
        await outer.saga(async (inner) => {
          await inner.run('b', noted('b'))
          inner.compensate(async (undo) => void (await undo.run('undo b', noted('undo b'))))
          await inner.wait(go)
        })
      }),
    )
    await using([definition, child], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await engine.idle()
      await run.cancel('once')
      await engine.idle()
      await run.cancel('twice')
      await engine.idle()
      expect((await run.describe()).status).toBe('compensating')
      await engine.crash()
      await expect(run.result()).rejects.toThrow('once')
      expect([...log]).toEqual(['a', 'b', 'undo b', 'child', 'undo a'])
    })
  })

  test('R7: in an update, in one item of a map, and in a branch that lost', async () => {
    log.clear()
    const tryOut = update<void, string>('try out')
    const definition = workflow('everywhere', async (ctx) => {
      ctx.on(tryOut, async (__, inner) => {
        const saga = inner.saga(async (each) => {
          await each.run('try', () => 1)
          each.compensate(async (undo) => void (await undo.run('undo', noted('undo update'))))
          throw new Error('no')
        })
        return saga.then(
          () => 'done',
          () => 'undone',
        )
      })
      await ctx.map([1, 2], async (inner, item) => {
        const saga = inner.saga(async (each) => {
          await each.run('work', () => 1)
          each.compensate(async (undo) => void (await undo.run('undo', noted(`undo ${item}`))))
          if (item === 2) throw new Error('no')
        })
        await saga.catch(() => {})
      })
      await ctx.race({
        fast: (inner) => inner.sleep('1s'),
        slow: (inner) =>
          inner.saga(async (each) => {
            await each.run('work', () => 1)
            each.compensate(async (undo) => {
              await undo.sleep('1h')
              await undo.run('undo', noted('undo loser'))
            })
            await each.sleep('1d')
          }),
      })
      await ctx.wait(go)
    })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await engine.clock.advance('2h')
      expect(await run.update(tryOut)).toBe('undone')
      await run.signal(go)
      await run.result()
      expect([...log]).toEqual(['undo 2', 'undo loser', 'undo update'])
    })
  })
})
