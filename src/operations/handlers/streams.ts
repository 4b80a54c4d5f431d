// Operations on the streams of runs.
import { limits } from '../../core/base/limits.ts'
import { decode } from '../../core/base/value.ts'
import { newsIn, type StreamPart } from '../../core/index.ts'
import type { OperationName } from '../routes.ts'
import { type Handlers, notFound, refOf } from './context.ts'

export const streams: Handlers<Extract<OperationName, `streams.${string}`>> = {
  'streams.list': async ({ run }, { engine }) => ({ items: await engine.get(refOf(run)).streams() }),
  'streams.read': async ({ run, name: stream, from = 0 }, { engine }) => {
    const { runId } = await engine.get(refOf(run)).describe()
    const ask = { type: 'stream', runId, stream, from, parts: 0, batches: limits.streamPageBatches } as const
    const [loaded] = await engine.host.load([ask])
    if (loaded?.type !== 'stream' || !loaded.page) throw notFound(runId)
    const parts: StreamPart[] = []
    const { items, next, isLast } = newsIn(loaded.page, parts, from)
    const shown = items.map(({ offset, part, payload }) => ({ offset, part: part.number, chunk: decode(payload) }))
    return { items: shown, parts, ...(next < loaded.page.items && { next }), closed: loaded.page.closed && isLast }
  },
}
