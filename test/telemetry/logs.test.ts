// Logs for machines: one JSON object per line, whatever is logged.
import { activity, jsonLogger, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { until, useStore } from '../workflows/each-store.ts'

const loud = activity('loud', async (_: void, ctx) => {
  ctx.log.info('charging', { cents: 12 })
  throw new Error('declined\n{"level":"info","message":"forged"}')
})
const child = workflow('child', async (ctx) => {
  ctx.log.warn('about to charge')
  return ctx.run(loud, undefined, { retry: 'none' })
})
const parent = workflow('parent', async (ctx) => ctx.child(child))

describe('jsonLogger', () => {
  const bench = useStore('memory')

  test('O6: lines say what they are about, and carry the id of the trace', async () => {
    const lines: string[] = []
    const logger = jsonLogger({ write: (line) => void lines.push(line) })
    const engine = await bench.serve({ workflows: [parent, child], activities: [loud], logger }, { id: 'w1' })
    const run = await engine.start(parent, undefined, { workflowId: 'p-1' })
    await run.result().catch(() => {})
    const read = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    await until(read, (all) => all.some(({ message }) => String(message).includes(`(${run.runId}) of 'parent'`)))
    const traceId = run.runId.replaceAll('-', '')
    const charging = read().find(({ message }) => message === 'charging')
    expect(charging).toMatchObject({
      ...{ time: expect.stringMatching(/^\d{4}-.*Z$/), level: 'info', step: 'activity:loud#1', attempt: 1 },
      ...{ worker: 'w1', traceId, fields: { cents: 12 }, runId: expect.any(String), workflowId: expect.any(String) },
    })
    expect(read().find(({ message }) => message === 'about to charge')).toMatchObject({ worker: 'w1', traceId })
    expect(read().filter(({ level }) => level === 'warn')).toMatchObject([
      { workflow: 'child', traceId },
      { workflow: 'child', traceId },
      { workflow: 'child', traceId },
      { workflow: 'parent', traceId, workflowId: 'p-1', runId: run.runId },
    ])
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
  })

  test('hostile texts and values stay one line of JSON', () => {
    const lines: string[] = []
    const logger = jsonLogger({ write: (line) => void lines.push(line) })
    const cycle: Record<string, unknown> = { big: 1n }
    cycle['self'] = cycle
    const angry = {
      toJSON: () => {
        throw new Error('no')
      },
    }
    logger.log('info', 'a\nb\u2028c\u001b[31m\u009b', { runId: 'x\ny', ['__proto__']: 1, text: '\u202e' })
    logger.log('warn', 'a cycle', cycle)
    logger.log('error', 'throws', { angry })
    logger.log('info', 'x'.repeat(2 * limits.logLineLengthMax))
    for (const line of lines) {
      for (const sign of '\n\r\u2028\u2029\u001b\u009b\u202e') expect(line.slice(0, -1)).not.toContain(sign)
      expect(line.length).toBeLessThanOrEqual(limits.logLineLengthMax + 1)
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), message: expect.any(String) })
    }
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: 'a\nb\u2028c\u001b[31m\u009b', runId: 'x\ny' })
  })
})
