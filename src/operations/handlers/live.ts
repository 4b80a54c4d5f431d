// Operations whose answers are streams of live events.
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { ENDED, type HistoryEvent, LIVE, type Loaded, type RunRecord, recordOf } from '../../core/index.ts'
import type { Engine } from '../../engine.ts'
import type { InputOf } from '../inputs.ts'
import { positionOf } from '../live/events.ts'
import { LiveRuns } from '../live/live-runs.ts'
import { runStream } from '../live/run-stream.ts'
import { streamPlace } from '../live/stream-events.ts'
import { streamEvents } from '../live/stream-reader.ts'
import { type Counts, type WindowSource, Windows } from '../live/windows.ts'
import type { OperationName } from '../routes.ts'
import { exactText } from '../wire.ts'
import type { Handlers } from './context.ts'
import { refOf } from './context.ts'
import { shownEvent } from './runs.ts'

type LiveOperation = Extract<OperationName, `live.${string}`>

/** The watchers of an engine, which all its streams share. */
const watchers = new WeakMap<Engine, { readonly runs: LiveRuns; readonly windows: Windows }>()

export function watchersOf(engine: Engine): { readonly runs: LiveRuns; readonly windows: Windows } {
  const known = watchers.get(engine) ?? { runs: new LiveRuns(engine), windows: new Windows(engine) }
  watchers.set(engine, known)
  return known
}

export const live: Handlers<LiveOperation> = {
  'live.run': async ({ run: ref, after, payloads = false }, { engine, scope, signal }) => {
    const handle = engine.get(refOf(ref))
    const { runId } = await handle.describe()
    const [loaded] = await engine.host.load([{ type: 'run', runId }])
    if (loaded?.type !== 'run' || !loaded.run) throw new PawlError('RUN_NOT_FOUND', `run ${runId} was deleted.`)
    const shown = (event: HistoryEvent) => shownEvent(event, { payloads, scope })
    const options = { after: after === undefined ? undefined : positionOf(after), shown, signal }
    return runStream(engine, watchersOf(engine).runs, loaded.run, options)
  },
  'live.stream': async ({ run: ref, name: stream, from, after }, { engine, signal }) => {
    const { runId } = await engine.get(refOf(ref)).describe()
    const place = streamPlace(after, from)
    if (place.toldEnd && (await hasNothing(engine, { runId, stream, from: place.from }))) return undefined
    return streamEvents(engine, { runId, stream, from: place.from, signal })
  },
  'live.runs': (input, { engine, signal }) => watchersOf(engine).windows.stream(windowOf(engine, input), signal),
}

/** True if the stream is closed, and has no items from there on. */
async function hasNothing({ host }: Engine, ask: { runId: string; stream: string; from: number }): Promise<boolean> {
  const [loaded] = await host.load([{ type: 'stream', ...ask, parts: 0, batches: 0 }])
  const page = loaded?.type === 'stream' ? loaded.page : undefined
  return !page || (page.closed && page.items <= ask.from)
}

function windowOf(engine: Engine, { runs, limit, counts = false, ...filter }: InputOf<'live.runs'>): WindowSource {
  const key = exactText({ runs, limit, counts, filter })
  if (!runs) {
    const list = async () => (await engine.list(filter, defined({ limit }))).items
    return { key, list, ...(counts && { count: () => countsOf(engine, filter) }) }
  }
  const others = Object.keys(defined({ ...filter, limit, counts: counts || undefined }))
  if (others.length === 0) return { key, list: () => recordsOf(engine, runs) }
  const message = `live.runs has \`runs\` and \`${others[0]}\`; expected one or the other. Leave one of them out.`
  throw new PawlError('INPUT_INVALID', message)
}

/** Runs by their ids. Those that do not exist are left out. */
async function recordsOf({ host }: Engine, runs: readonly string[]): Promise<readonly RunRecord[]> {
  const refs = runs.map(refOf)
  const asked = refs.flatMap((ref) => (typeof ref === 'string' ? [] : [{ type: 'named', ...ref } as const]))
  const named = asked.length === 0 ? [] : await host.load(asked)
  const found = named.flatMap((each) => (each.type === 'named' && each.runId !== undefined ? [each.runId] : []))
  const runIds = new Set([...refs.filter((ref) => typeof ref === 'string'), ...found])
  const loaded = await host.load([...runIds].map((runId) => ({ type: 'run', runId }) as const))
  return loaded.flatMap((each: Loaded) => (each.type === 'run' && each.run ? [recordOf(each.run)] : []))
}

async function countsOf(engine: Engine, filter: NonNullable<Parameters<Engine['count']>[0]>): Promise<Counts> {
  const statuses = filter.status === undefined ? [...LIVE, ...ENDED] : [filter.status].flat()
  const counts = await Promise.all(statuses.map((status) => engine.count({ ...filter, status })))
  const byStatus = Object.fromEntries(statuses.map((status, index) => [status, counts[index] ?? 0]))
  return { count: counts.reduce((sum, count) => sum + count, 0), byStatus }
}
