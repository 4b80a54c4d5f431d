// Routes outside `/api/v1` that do the same operations under the paths and field names of other engines, so that tools
// written for those keep working. What their subjects are not there for yet (dead letters, breakers, tasks) is 404.

import { PawlError } from '../core/base/errors.ts'
import { isUuid } from '../core/base/names.ts'
import { ENDED, LIVE, type RunRecord, type Status, type WorkerRecord } from '../core/index.ts'
import type { InputOf } from '../operations/inputs.ts'
import type { OutputOf } from '../operations/outputs.ts'
import type { CallName } from '../operations/routes.ts'

/** Does an operation as the caller of a request, with its scope, and notes it in the audit trail. */
export type Call = <N extends CallName>(name: N, input: InputOf<N>) => Promise<OutputOf<N>>
type Fields = Readonly<Record<string, unknown>>

interface OtherRoute {
  readonly method: 'GET' | 'POST'
  /** Names in braces are fields. */
  readonly path: string
  /** Fields of the body or the query that it takes. */
  readonly takes: readonly string[]
  /** Takes any fields: the body is a document. */
  readonly isDocument?: true
  readonly status?: number
  readonly answer: (call: Call, fields: Readonly<Record<string, string>>, given: Fields) => Promise<object>
}

/** I7: a graph is submitted and triggered in two steps. */
const graphs: readonly OtherRoute[] = [
  {
    ...{ method: 'POST', path: '/v1/workflow', takes: [], isDocument: true, status: 201 },
    answer: async (call, _, document) => {
      const { name, version } = await call('definitions.submit', { document })
      const { runId } = await call('runs.start', { workflow: name, version, pending: true })
      return { workflow_definition_id: `${name}@${version}`, execution_id: runId }
    },
  },
  {
    ...{ method: 'POST', path: '/v1/workflow/trigger/{execution_id}', takes: ['input_params'] },
    answer: async (call, { execution_id: id = '' }, { input_params: input }) => {
      await call('runs.trigger', { run: runOf(id), ...(input !== undefined && { input }) })
      return { execution_id: id, status: 'RUNNING' }
    },
  },
  {
    ...{ method: 'GET', path: '/v1/workflow/{execution_id}', takes: [] },
    answer: async (call, { execution_id: id = '' }) => {
      const run = await call('runs.get', { run: runOf(id) })
      const { runId, name, input, output, failure, createdAt, endedAt } = run
      return {
        ...{ execution_id: runId, workflow: name, status: run.status.toUpperCase(), input_params: input },
        ...{ output, error: failure?.message, created_at: createdAt, ended_at: endedAt },
      }
    },
  },
  {
    ...{ method: 'GET', path: '/v1/workflow/{execution_id}/nodes', takes: [] },
    answer: async (call, { execution_id: id = '' }) => {
      const { items } = await call('runs.steps', { run: runOf(id) })
      const nodes = items.map(({ step, kind, state, attempts, failure, startedAt, endedAt }) => ({
        ...{ node_id: step, type: kind, status: state.toUpperCase().replaceAll(' ', '_'), attempts },
        ...{ error: failure?.message, started_at: startedAt, ended_at: endedAt },
      }))
      return { execution_id: id, nodes }
    },
  },
  {
    ...{ method: 'GET', path: '/v1/health', takes: [] },
    answer: async (call) => {
      const { status, version } = await call('health.get', {})
      const { items } = await call('workers.list', {})
      const dead = items.filter(({ alive }) => !alive).map(({ worker }) => worker)
      return { status, version, workers: { alive: items.length - dead.length, dead } }
    },
  },
]

/** I3, I4, I6: what operators of a fleet look at. */
const fleet: readonly OtherRoute[] = [
  {
    ...{ method: 'GET', path: '/api/durable/workers', takes: [] },
    answer: async (call) => {
      const { items } = await call('workers.list', {})
      const active = items.filter(({ alive }) => alive).length
      return { workers: items.map(workerInfo), total: items.length, summary: { active, stale: items.length - active } }
    },
  },
  {
    ...{ method: 'GET', path: '/api/durable/workers/{id}', takes: [] },
    answer: async (call, { id = '' }) => {
      const { items } = await call('workers.list', {})
      const worker = items.find((each) => each.worker === id)
      if (worker) return workerInfo(worker)
      throw new PawlError('RUN_NOT_FOUND', `there is no worker '${id}'. List the workers to see their ids.`)
    },
  },
  {
    ...{ method: 'GET', path: '/api/durable/workflows', takes: ['status', 'type', 'limit', 'cursor'] },
    answer: async (call, _, { status, type, limit, cursor }) => {
      const { items, cursor: next } = await call('runs.list', {
        ...(status !== undefined && { status: statusesOf(textOf(status, 'status')) }),
        ...(type !== undefined && { workflow: textOf(type, 'type') }),
        ...(limit !== undefined && { limit: Number(limit) }),
        ...(cursor !== undefined && { cursor: textOf(cursor, 'cursor') }),
      })
      return { workflows: items.map(workflowInfo), total: items.length, cursor: next }
    },
  },
  {
    ...{ method: 'GET', path: '/api/durable/workflows/{id}', takes: [] },
    answer: async (call, { id = '' }) => workflowInfo(await call('runs.get', { run: runOf(id) })),
  },
  {
    ...{ method: 'GET', path: '/api/durable/workflows/{id}/events', takes: ['after', 'limit'] },
    answer: async (call, { id = '' }, { after, limit }) => {
      const { events, next } = await call('runs.history', {
        run: runOf(id),
        ...(after !== undefined && { after: Number(after) }),
        ...(limit !== undefined && { limit: Number(limit) }),
      })
      return { events, next }
    },
  },
  {
    ...{ method: 'POST', path: '/api/durable/workflows/{id}/signal', takes: ['signal_name', 'payload'], status: 202 },
    answer: (call, { id = '' }, { signal_name: name, payload }) => {
      return call('runs.signal', { run: runOf(id), name: textOf(name, 'signal_name'), payload })
    },
  },
  {
    ...{ method: 'POST', path: '/api/durable/workflows/{id}/cancel', takes: ['reason'], status: 202 },
    answer: (call, { id = '' }, { reason }) => {
      return call('runs.cancel', { run: runOf(id), ...(reason !== undefined && { reason: textOf(reason, 'reason') }) })
    },
  },
  {
    ...{ method: 'GET', path: '/api/durable/health', takes: [] },
    answer: async (call) => {
      const [{ status, workers }, running, pending] = await Promise.all([
        call('health.get', {}),
        call('runs.count', { status: statusesOf('running') }),
        call('runs.count', { status: 'pending' }),
      ])
      return {
        ...{ status, total_workers: workers.all, active_workers: workers.alive, workers_accepting: workers.alive },
        ...{ running_workflows: running.count, pending_workflows: pending.count },
      }
    },
  },
]

/** Every route, for tests. */
export const otherRoutes: readonly OtherRoute[] = [...graphs, ...fleet]

const table = otherRoutes.map((route) => ({ route, segments: route.path.split('/') }))

/** The route of a method and a path, and the fields in the path. */
export function otherRoute(
  method: string,
  path: string,
): { readonly route: OtherRoute; readonly fields: Readonly<Record<string, string>> } | undefined {
  const given = path.split('/')
  for (const { route, segments } of table) {
    if (route.method !== method || segments.length !== given.length) continue
    const isMatch = segments.every((segment, at) => segment === given[at] || (segment.startsWith('{') && given[at]))
    if (!isMatch) continue
    const pairs = segments.flatMap((segment, at) => {
      return segment.startsWith('{') ? [[segment.slice(1, -1), decodeURIComponent(given[at] ?? '')]] : []
    })
    return { route, fields: Object.fromEntries(pairs) as Record<string, string> }
  }
  return undefined
}

/** Refuses fields that the route does not take. */
export function checkTaken({ takes, isDocument, path }: OtherRoute, given: Fields): void {
  const unknown = isDocument ? undefined : Object.keys(given).find((field) => !takes.includes(field))
  if (unknown === undefined) return
  const expected = takes.length === 0 ? 'none' : takes.join(', ')
  throw new PawlError('INPUT_INVALID', `unknown field \`${unknown.slice(0, 100)}\` of ${path}; expected ${expected}.`)
}

/** Their ids may be ids of runs or workflow ids. */
function runOf(id: string): string {
  return isUuid(id) ? id : `w:${id}`
}

function textOf(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  throw new PawlError('INPUT_INVALID', `\`${field}\` is missing; expected a string.`)
}

/** What they call running are several states of pawl. */
const asRunning: readonly Status[] = LIVE.filter((status) => status !== 'pending')

function statusesOf(status: string): readonly Status[] {
  if (status === 'running') return asRunning
  const known: readonly Status[] = [...LIVE, ...ENDED]
  const found = known.find((each) => each === status)
  if (found) return [found]
  const expected = `expected pending, running, ${ENDED.join(', ')}`
  throw new PawlError('INPUT_INVALID', `\`status\` is '${status.slice(0, 100)}'; ${expected}.`)
}

function workflowInfo({ runId, workflowId, name, status, input, output, failure, createdAt, endedAt }: RunRecord) {
  return {
    ...{ id: runId, workflow_id: workflowId, workflow_type: name, input, result: output, error: failure?.message },
    ...{ status: asRunning.includes(status) ? 'running' : status, created_at: createdAt, completed_at: endedAt },
  }
}

function workerInfo({ worker, queues, activities, build, alive }: WorkerRecord) {
  return {
    ...{ id: worker, worker_group: queues[0], activity_types: activities, version: build },
    ...{ status: alive ? 'active' : 'stale', accepting_tasks: alive },
  }
}
