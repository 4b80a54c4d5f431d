// Operations on everything but runs: completions, schedules, definitions, builds, workers and the server itself.
import { inputSchemas, schemaOfDocument } from '../../addons/input-schemas/input-schemas.ts'
import { deleteView, listViews, setView } from '../../addons/views/views.ts'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Json } from '../../core/base/value.ts'
import { isStandalone, LIVE, OWN_WORKFLOWS, workflow } from '../../core/index.ts'
import type { Worked } from '../../until-idle.ts'
import type { InputOf } from '../inputs.ts'
import type { Health, TokenRecord, WorkflowInfo } from '../outputs.ts'
import type { OperationName } from '../routes.ts'
import { version } from '../version.ts'
import type { Caller, Handlers } from './context.ts'

type OtherOperation = Exclude<OperationName, `runs.${string}` | `streams.${string}` | `live.${string}` | 'openapi.get'>

const accepted = { accepted: true } as const

export const others: Handlers<OtherOperation> = {
  'completions.resolve': async ({ token, payload }, { engine }) => {
    await engine.resolve(token, payload)
    return accepted
  },
  'completions.reject': async ({ token, reason }, { engine }) => {
    await engine.reject(token, reason)
    return accepted
  },
  'batches.preview': ({ filter, ...options }, { engine }) => engine.batches.preview(filter, options),
  'batches.list': (page, { engine }) => engine.batches.list(page),
  'batches.get': ({ batch }, { engine }) => engine.batches.get(batch),
  'batches.start': async ({ batch }, { engine }) => {
    await engine.batches.start(batch)
    return accepted
  },
  'batches.stop': async ({ batch }, { engine }) => {
    await engine.batches.stop(batch)
    return accepted
  },
  'schedules.list': (page, { engine }) => engine.schedules.list(page),
  'schedules.get': ({ schedule }, { engine }) => engine.schedules.get(schedule).describe(),
  'schedules.set': async ({ schedule, workflow: name, ...plan }, { engine }) => {
    await engine.schedules.set(schedule, { ...plan, workflow: workflow.declare<unknown, unknown>(name) } as never)
    return undefined
  },
  'schedules.update': async ({ schedule, workflow: name, ...change }, { engine }) => {
    const other = name === undefined ? {} : { workflow: workflow.declare<unknown, unknown>(name) }
    await engine.schedules.get(schedule).update({ ...change, ...other })
    return undefined
  },
  'schedules.delete': async ({ schedule }, { engine }) => {
    await engine.schedules.get(schedule).delete()
    return undefined
  },
  'schedules.pause': async ({ schedule, note }, { engine }) => {
    await engine.schedules.get(schedule).pause(note)
    return undefined
  },
  'schedules.resume': async ({ schedule }, { engine }) => {
    await engine.schedules.get(schedule).resume()
    return undefined
  },
  'schedules.trigger': async ({ schedule }, { engine }) => {
    return { runId: (await engine.schedules.get(schedule).trigger()).runId }
  },
  'schedules.slots': ({ schedule, ...range }, { engine }) => engine.schedules.get(schedule).slots(range),
  'schedules.backfill': async ({ schedule, ...range }, { engine }) => {
    return { slots: await engine.schedules.get(schedule).backfill(range) }
  },
  'views.list': async (_, { engine }) => ({ items: await listViews(engine.records) }),
  'views.set': async ({ view: name, query }, { engine }) => {
    await setView(engine.records, { name, query })
    return undefined
  },
  'views.delete': async ({ view }, { engine }) => {
    await deleteView(engine.records, view)
    return undefined
  },
  'workflows.list': async (_, caller) => ({ items: await workflowsOf(caller) }),
  'definitions.list': async (_, { engine }) => ({ items: await engine.definitionNames() }),
  'definitions.get': async ({ name }, { engine }) => {
    const items = await engine.definitions(name)
    if (items.length > 0) return { items }
    throw new PawlError('WORKFLOW_NOT_FOUND', `there is no definition '${name}' in this store. Submit it first.`)
  },
  'definitions.submit': async ({ document }, { engine }) => {
    const { name, version: stored, definitionHash } = await engine.submit(document as Json)
    return { name, version: stored, definitionHash }
  },
  'builds.list': async (_, { engine }) => ({ items: await engine.builds.list() }),
  'builds.get': async ({ build }, { engine }) => ({ known: await engine.builds.isKnown(build) }),
  'builds.checks': async (_, { engine }) => ({ items: await engine.builds.checks() }),
  'builds.rollOut': async ({ build, percent }, { engine }) => {
    await engine.builds.rollOut(build, percent)
    return undefined
  },
  'builds.retire': async ({ build }, { engine }) => {
    await engine.builds.retire(build)
    return undefined
  },
  'retention.get': async (_, { engine }) => defined({ retention: await engine.retention.get() }),
  'retention.set': async (policy, { engine }) => {
    await engine.retention.set(policy)
    return undefined
  },
  'retention.remove': async (_, { engine }) => {
    await engine.retention.remove()
    return undefined
  },
  'retention.purge': ({ policy, ...options }, { engine }) => engine.retention.purgeSome(policy, options),
  'workers.list': async (_, { engine }) => ({ items: await engine.workers() }),
  'queues.list': async (_, { engine }) => ({ items: await engine.queues() }),
  'workers.work': (given, caller) => work(given, caller),
  'health.get': (_, caller) => health(caller),
  'audit.list': (page, { books }) => books.audit.list(page),
  'tokens.list': async (_, caller) => ({ items: await tokensOf(caller) }),
  'tokens.create': (given, { books, namespace }) => books.tokens.create({ ...given, namespace }),
  'tokens.revoke': async ({ token }, caller) => {
    const isOwn = (await tokensOf(caller)).some(({ id }) => id === token)
    if (!isOwn) throw new PawlError('TOKEN_INVALID', `there is no token with the id '${token}'. List the tokens first.`)
    await caller.books.tokens.revoke(token)
    return undefined
  },
  'me.get': (_, { name, scope }) => ({ ...(name !== undefined && { name }), scope }),
}

/** The tokens of the caller's namespace. */
async function tokensOf({ books, namespace }: Caller): Promise<readonly TokenRecord[]> {
  return (await books.tokens.list()).filter((token) => token.namespace === namespace)
}

/** What can be started: the workflows that living workers name, and the documents in the store. */
async function workflowsOf({ engine }: Caller): Promise<readonly WorkflowInfo[]> {
  const [workers, documents, schemas] = await Promise.all([
    engine.workers(),
    engine.definitionNames(),
    inputSchemas(engine.records),
  ])
  const alive = workers.filter((worker) => worker.alive)
  const named = alive.flatMap(({ workflows = [] }) => workflows)
  const own: readonly string[] = OWN_WORKFLOWS
  const names = [...new Set([...named, ...documents])]
    .filter((name) => !own.includes(name) && !isStandalone(name))
    .toSorted()
  return Promise.all(
    names.map(async (name) => {
      const isDocument = documents.includes(name)
      const able = alive.filter(({ workflows }) => isDocument || !workflows || workflows.includes(name)).length
      const newest = isDocument ? await engine.newestDefinition(name) : undefined
      const input = schemas.get(name) ?? schemaOfDocument(newest?.document)
      return defined({ name, workers: able, version: newest?.version, input })
    }),
  )
}

function work(given: InputOf<'workers.work'>, { engine, query, signal }: Caller): Promise<Worked> {
  if (query) {
    const problem = 'the code of this server runs in processes of its own, which work all the time'
    throw new PawlError('NOT_SUPPORTED', `${problem}. Call a server that has the code itself: server(engine).`)
  }
  return engine.workUntilIdle({ ...given, signals: false, signal })
}

async function health({ engine }: Caller): Promise<Health> {
  const [workers, live, paused] = await Promise.all([
    engine.workers(),
    engine.count({ status: LIVE }),
    engine.count({ status: 'paused' }),
  ])
  const alive = workers.filter((worker) => worker.alive).length
  return {
    status: live > paused && alive === 0 ? 'degraded' : 'healthy',
    store: engine.storeKind,
    version: version(),
    workers: { alive, all: workers.length },
    runs: { live, paused },
  }
}
