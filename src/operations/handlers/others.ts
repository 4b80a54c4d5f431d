// Operations on everything but runs: completions, schedules, definitions, builds, workers and the server itself.
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Json } from '../../core/base/value.ts'
import { LIVE, workflow } from '../../core/index.ts'
import type { Health, TokenRecord } from '../outputs.ts'
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
  'schedules.backfill': async ({ schedule, ...range }, { engine }) => {
    return { slots: await engine.schedules.get(schedule).backfill(range) }
  },
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
