// A job queue on Redis whose flows can stand in for workflows: a step is a job, the steps of a chain
// are nested children, so the root runs last. Two rows: with every write on disk before it is answered,
// as the other engines have it, and with the usual fsync once a second, which may lose the last one.
import type { Adapter, Client, Hooks } from '../adapter.ts'
import { loadPeer } from '../peers/load.ts'
import { chunked, range } from '../time.ts'
import { workloads } from '../workloads.ts'

interface JobData {
  run: number
  body: number
  bodies: number
}

interface Job {
  name: string
  data: JobData
  opts?: object
  waitUntilFinished(events: unknown): Promise<number>
}

type NewJob = Pick<Job, 'name' | 'data' | 'opts'>

interface FlowNode extends NewJob {
  queueName: string
  children?: FlowNode[]
}

interface Connected {
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

interface Queue extends Connected {
  add(name: string, data: JobData): Promise<Job>
  addBulk(jobs: NewJob[]): Promise<unknown>
  getJobCounts(...states: string[]): Promise<Record<string, number>>
}

interface FlowProducer extends Connected {
  add(flow: FlowNode): Promise<{ job: Job }>
  addBulk(flows: FlowNode[]): Promise<unknown>
}

type Constructor<Made, Rest extends unknown[] = []> = new (...rest: [...Rest, object]) => Made

interface BullModule {
  Queue: Constructor<Queue, [string]>
  QueueEvents: Constructor<Connected, [string]>
  FlowProducer: Constructor<FlowProducer>
  Worker: Constructor<Connected, [string, (job: Job) => Promise<number>]>
}

interface RedisModule {
  Redis: new (
    url: string,
  ) => {
    flushall(): Promise<unknown>
    config(verb: 'SET', name: string, value: string): Promise<unknown>
    quit(): Promise<unknown>
  }
}

const queueName = 'bench'
const concurrency = 200
const bulk = { jobs: 1_000, flows: 500 }
const common = `appendonly yes, worker concurrency ${concurrency} (default 1), removeOnComplete for W3/W5; one step = one job and QueueEvents, more = FlowProducer; bulk = addBulk`

export const bullmq: readonly Adapter[] = [
  adapterFor('bullmq', 'always', `appendfsync always, ${common}`),
  adapterFor('bullmq-everysec', 'everysec', `appendfsync everysec (may lose a second), ${common}`),
]

function adapterFor(id: string, fsync: string, settings: string): Adapter {
  return {
    id,
    packages: ['bullmq'],
    settings,
    workloads,
    async unavailable({ redisUrl }) {
      return redisUrl ? undefined : 'no redis-server on this machine'
    },
    preload: () => loadPeer('bullmq'),
    async setup({ redisUrl }) {
      if (!redisUrl) throw new Error('no redis-server on this machine')
      const { Redis } = await loadPeer<RedisModule>('ioredis')
      const redis = new Redis(redisUrl)
      await redis.config('SET', 'appendfsync', fsync)
      await redis.flushall()
      await redis.quit()
      return { url: redisUrl }
    },
    work: ({ url }, hooks) => startWorker(url, hooks),
    connect: ({ url }) => connect(url),
  }
}

async function startWorker(url: string, hooks: Hooks): Promise<Connected> {
  const { Worker } = await loadPeer<BullModule>('bullmq')
  const handle = async ({ data }: Job): Promise<number> => {
    hooks.started(data.run)
    if (data.body < data.bodies) hooks.ran(data.run, data.body)
    return data.bodies
  }
  const worker = new Worker(queueName, handle, { connection: connectionTo(url), concurrency })
  await worker.waitUntilReady()
  return worker
}

async function connect(url: string): Promise<Client> {
  const { Queue, QueueEvents, FlowProducer } = await loadPeer<BullModule>('bullmq')
  const connection = connectionTo(url)
  const queue = new Queue(queueName, { connection })
  const events = new QueueEvents(queueName, { connection })
  const flows = new FlowProducer({ connection })
  const everything = [queue, events, flows]
  await Promise.all(everything.map((part) => part.waitUntilReady()))
  return {
    executor: {
      async chain({ run, steps }) {
        const data = { run, body: 0, bodies: steps }
        const job = steps === 1 ? await queue.add('step', data) : (await flows.add(chainFlow(run, steps))).job
        return await job.waitUntilFinished(events)
      },
      async fanout({ run, width }) {
        const { job } = await flows.add(fanoutFlow(run, width))
        return await job.waitUntilFinished(events)
      },
    },
    startOne: (run) => queue.add('step', { run, body: 0, bodies: 1 }),
    startMany: (runs, steps) =>
      steps === 1
        ? chunked(runs, bulk.jobs, (first, size) => queue.addBulk(range(first, size, singleJob)))
        : chunked(runs, bulk.flows, (first, size) =>
            flows.addBulk(range(first, size, (run) => chainFlow(run, steps, removed))),
          ),
    async unfinished() {
      const counts = await queue.getJobCounts(...unfinishedStates)
      return Object.values(counts).reduce((sum, count) => sum + count, 0)
    },
    async close() {
      await Promise.all(everything.map((part) => part.close()))
    },
  }
}

const removed = { removeOnComplete: true }
const unfinishedStates = ['waiting', 'active', 'waiting-children', 'prioritized', 'delayed']

const singleJob = (run: number): NewJob => ({
  name: 'step',
  data: { run, body: 0, bodies: 1 },
  opts: removed,
})

function chainFlow(run: number, steps: number, opts: object = {}): FlowNode {
  const node = (body: number): FlowNode => ({
    name: 'step',
    queueName,
    data: { run, body, bodies: steps },
    opts,
  })
  return range(1, steps - 1, node).reduce((children, parent) => ({ ...parent, children: [children] }), node(0))
}

/** The parent only joins: its body number is one past the last, and is not counted. */
function fanoutFlow(run: number, width: number): FlowNode {
  const node = (body: number): FlowNode => ({
    name: 'step',
    queueName,
    data: { run, body, bodies: width },
  })
  return { ...node(width), children: range(0, width, node) }
}

function connectionTo(url: string): object {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}
