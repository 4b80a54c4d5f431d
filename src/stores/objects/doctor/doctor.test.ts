import { beforeEach, describe, expect, test } from 'vitest'
import type { Codec } from '../../../addons/codecs/codec.ts'
import { compress, encrypt } from '../../../addons/codecs/index.ts'
import { activity } from '../../../core/definitions/activity.ts'
import { signal } from '../../../core/definitions/messages.ts'
import { Registry } from '../../../core/definitions/registry.ts'
import { workflow } from '../../../core/definitions/workflow.ts'
import { type Clock, systemClock } from '../../../core/runtime/clock.ts'
import { systemRandom } from '../../../core/runtime/random.ts'
import { Engine } from '../../../engine.ts'
import { MemoryBucket, MemoryObjects } from '../../../testing/memory-bucket.ts'
import { ABOUT, ENDED, LOG, NAMES, nameKey, RUNS, runKey, SNAPSHOTS } from '../layout.ts'
import { ObjectStore } from '../store.ts'
import { examine, type Findings, rebuild } from './doctor.ts'

const greet = activity('greet', async (name: string) => `hello ${name}`)
const go = signal<string>('go')
const quick = workflow('quick', async (ctx, name: string) => ctx.run(greet, name))
const patient = workflow('patient', async (ctx, name: string) => {
  await ctx.run(greet, name)
  return ctx.wait(go)
})

const GRACE_MS = 60_000

/** A prefix with ended runs in segments, live runs, snapshots, and a log after the newest snapshot. */
class Prefix {
  #ahead = 0
  readonly clock: Clock = { ...systemClock, now: () => systemClock.now() + this.#ahead }
  readonly space = new MemoryObjects(this.clock)
  readonly bucket = new MemoryBucket(this.space, this.clock)

  pass(ms: number): void {
    this.#ahead += ms
  }

  store(settings: { readonly retentionMs?: number } = {}): ObjectStore {
    const small = { snapshotEvery: 4, archiveAt: 2, graceMs: GRACE_MS }
    return new ObjectStore({
      bucket: new MemoryBucket(this.space, this.clock),
      clock: this.clock,
      settings: { ...small, ...settings },
    })
  }

  async live(names: readonly string[], codecs: readonly Codec[] = []): Promise<void> {
    const registry = new Registry([quick, patient], [greet])
    const world = { clock: this.clock, random: systemRandom }
    const options = { logger: { log: () => {} }, codecs }
    const engine = new Engine(this.store(), registry, options, world)
    const worker = engine.work({ signals: false })
    await worker.ready
    for (const name of names) {
      const run = await engine.start(quick, name, { workflowId: `quick-${name}` })
      await run.result()
      const waits = await engine.start(patient, name, { workflowId: `patient-${name}` })
      await expect.poll(() => waits.why()).toMatchObject({ reason: 'signal' })
    }
    await engine.close()
    this.space.write(ABOUT, '{ "pawl": 1 }\n')
  }

  keys(prefix: string): string[] {
    return this.space.list(prefix).map(({ key }) => key)
  }

  text(key: string): string {
    return String(this.space.read(key)?.body)
  }

  edit(key: string, change: (text: string) => string): void {
    const before = this.text(key)
    const after = change(before)
    expect(after).not.toBe(before)
    this.space.write(key, after)
  }

  /** Changes the first line of the object that has a `what`. */
  editLine(key: string, what: string, change: (line: string) => string): void {
    let done = false
    const edited = (line: string): string => {
      if (done || !line.includes(what)) return line
      done = true
      return change(line)
    }
    this.edit(key, (text) => text.split('\n').map(edited).join('\n'))
  }

  contents(prefix: string): Map<string, string> {
    return new Map(this.keys(prefix).map((key) => [key, this.text(key)]))
  }

  problems(): Promise<string[]> {
    return examine(this.bucket).then(({ problems }) => problems.map(({ problem }) => problem))
  }
}

let prefix: Prefix

beforeEach(async () => {
  prefix = new Prefix()
  await prefix.live(['a', 'b', 'c', 'd'])
})

/** Returns the log objects after the newest snapshot, and makes a few writes first so that there are some. */
async function tail(): Promise<string[]> {
  const store = prefix.store()
  await store.open()
  while (store.replica.position - store.replica.snapshot < 3) await beat(store)
  await store.close()
  const newest = prefix.keys(SNAPSHOTS).at(-1)?.slice(SNAPSHOTS.length) ?? ''
  return prefix.keys(LOG).filter((key) => key.slice(LOG.length) > newest)
}

async function beat(store: ObjectStore): Promise<void> {
  const session = 1 + store.replica.position
  const one = { session, worker: 'w', about: '{}', beat: 1, ttlMs: 1_000, tasks: [] }
  await store.renew(one)
}

function last(keys: readonly string[]): string {
  const key = keys.at(-1)
  if (key === undefined) throw new Error('there is none')
  return key
}

test('object store, P15, V1: a healthy prefix has no problems, and is counted', async () => {
  const before = prefix.contents('')
  const findings = await examine(prefix.bucket)
  expect(findings.problems).toEqual([])
  expect(findings).toMatchObject<Partial<Findings>>({
    runs: { live: 4, ended: 4 },
    sessions: 0,
    tasks: 0,
    segments: { objects: prefix.keys(ENDED).length, orphans: 0 },
  })
  expect(findings.log.objects).toBe(prefix.keys(LOG).length)
  expect(findings.snapshots.objects).toBeGreaterThan(1)
  expect(findings.segments.objects).toBeGreaterThan(0)
  expect(findings.projections.looked).toBe(8)
  expect(prefix.contents('')).toEqual(before)
})

test('object store, P15: an empty prefix lacks only what says that it is one', async () => {
  const { problems } = await examine(new Prefix().bucket)
  expect(problems).toMatchObject([{ object: ABOUT, problem: 'pawl.json is missing.' }])
})

describe('object store, P15, V1: damage is found and named', () => {
  test('a log object is missing', async () => {
    const [first, second] = await tail()
    prefix.space.remove(first ?? '')
    expect((await prefix.problems())[0]).toContain(`${first} is missing: after `)
    prefix.space.remove(second ?? '')
    expect(await prefix.problems()).toHaveLength(1)
  })

  test('a log object is cut off, or empty', async () => {
    const [first = '', second = ''] = await tail()
    prefix.edit(first, (text) => text.slice(0, -10))
    prefix.edit(second, () => '')
    const problems = await prefix.problems()
    expect(problems[0]).toMatch(new RegExp(`^${first} is not readable: SyntaxError.*\\.$`))
    expect(problems[1]).toBe(`${second} is incomplete, or has a header that does not fit its lines.`)
  })

  test('a log object has the number of another', async () => {
    const [, second = ''] = await tail()
    prefix.edit(second, (text) => text.replace(/"n":\d+/, '"n":7777'))
    expect(await prefix.problems()).toEqual([`${second} has the number 7777 in its header.`])
  })

  test('time goes back by little, which no writer does', async () => {
    const [first = '', second = ''] = await tail()
    const at = /"at":(\d+)/.exec(prefix.text(first))?.[1]
    prefix.edit(second, (text) => text.replace(/"at":\d+/, `"at":${Number(at) - 5}`))
    expect((await prefix.problems())[0]).toMatch(`${second} has a time 5 ms before that of the object before it`)
  })

  test('time goes back by much, because the clock was set: that is no problem', async () => {
    const [, second = ''] = await tail()
    prefix.edit(second, (text) => text.replace(/"at":\d+/, '"at":5'))
    expect((await prefix.problems()).filter((problem) => problem.includes('was written'))).toEqual([])
  })

  test('the newest snapshot is not readable, and the one before it serves', async () => {
    const newest = last(prefix.keys(SNAPSHOTS))
    const { runs } = await examine(prefix.bucket)
    prefix.edit(newest, (text) => text.slice(0, -10))
    const findings = await examine(prefix.bucket)
    expect(findings.problems).toMatchObject([{ object: newest }])
    expect(findings.runs).toEqual(runs)
  })

  test('all snapshots are gone, and the log does not begin at 1', async () => {
    for (const key of [...prefix.keys(SNAPSHOTS), prefix.keys(LOG)[0] ?? '']) {
      prefix.space.remove(key)
    }
    expect((await prefix.problems())[0]).toMatch(/^log\/0+1\.jsonl is missing/)
  })

  test('a snapshot says other than the log', async () => {
    const newest = last(prefix.keys(SNAPSHOTS))
    prefix.editLine(newest, '"priority":', (line) => line.replace(/"priority":0/, '"priority":9'))
    const problems = await prefix.problems()
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(`${newest} does not agree with the log: run `)
  })

  test('a turn of a snapshot is at another place', async () => {
    const newest = last(prefix.keys(SNAPSHOTS))
    prefix.editLine(newest, '"turns":[{', (line) => line.replace(/"turns":\[{"seq":0/, '"turns":[{"seq":1'))
    const problems = await prefix.problems()
    expect(problems.join('\n')).toMatch(/has run \S+, which has a turn at event 1 where event 0 is next\./)
    expect(problems.join('\n')).toMatch(`${newest} does not agree with the log`)
  })

  test('a live run says that it is completed', async () => {
    const newest = last(prefix.keys(SNAPSHOTS))
    prefix.editLine(newest, '"status":"waiting"', (line) => line.replace('"waiting"', '"completed"'))
    expect((await prefix.problems()).join('\n')).toMatch('is completed, but has not ended.')
  })

  test('a segment is missing', async () => {
    const [segment = ''] = prefix.keys(ENDED)
    prefix.space.remove(segment)
    expect((await prefix.problems())[0]).toMatch(`${segment} is missing, with its ended runs (2)`)
    await expect(rebuild(prefix.bucket)).rejects.toThrow(`${segment} is missing`)
  })

  test.each(['ids', 'ends', 'statuses', 'created'])(
    'an entry of %s in the index of a segment is another',
    async (column) => {
      const [segment = ''] = prefix.keys(ENDED)
      prefix.edit(segment, (text) => {
        const [filter, head = '', ...lines] = text.split('\n')
        const index = JSON.parse(head) as Record<string, unknown[]>
        index[column]?.reverse().splice(0, 1, 'x')
        return [filter, JSON.stringify(index), ...lines].join('\n')
      })
      const problems = await prefix.problems()
      const fault = `has an index whose '${column}' do not match its runs.`
      expect(problems).toContain(`${segment} ${fault}`)
    },
  )

  test('a run is in a segment and live', async () => {
    const [segment = ''] = prefix.keys(ENDED)
    const newest = last(prefix.keys(SNAPSHOTS))
    const run = prefix.text(segment).split('\n')[2] ?? ''
    const more = (text: string): string =>
      text.replace(/"lines":(\d+)/, (_, lines: string) => `"lines":${Number(lines) + 1}`)
    prefix.edit(newest, (text) => `${more(text)}${run}\n`)
    const { runId } = (JSON.parse(run) as { row: { head: { runId: string } } }).row.head
    expect(await prefix.problems()).toContain(`${segment} has run ${runId}, which the log or a snapshot has as well.`)
  })
})

test('object store, P15: what a sweep would delete is counted, and is gone after it', async () => {
  prefix.space.write(`${ENDED}000000000001-000000000002-x.jsonl`, '')
  const [first = ''] = prefix.keys(LOG)
  prefix.pass(2 * GRACE_MS)
  prefix.space.write(first, prefix.text(first))
  const before = await examine(prefix.bucket)
  expect(before.segments.orphans).toBe(1)
  expect(before.log.covered).toBeGreaterThan(4)
  expect(before.log.ghosts).toBe(1)
  // A sweep deletes what a snapshot covers only when the ghost is old enough as well.
  prefix.pass(2 * GRACE_MS)
  const store = prefix.store()
  await store.open()
  await beat(store)
  await store.compactor.sweep(store.replica.at)
  await store.close()
  const after = await examine(prefix.bucket)
  expect(after).toMatchObject({ problems: [], segments: { orphans: 0 }, runs: before.runs })
  expect(after.log).toMatchObject({ covered: 0, ghosts: 0 })
})

test('object store, P12: encoded bodies are no problem, and people see what they are encoded with', async () => {
  const codecs = [compress({ above: 200 }), encrypt({ keys: { k2: new Uint8Array(32) }, current: 'k2' })]
  const encoded = new Prefix()
  await encoded.live(['plain'])
  await encoded.live(['hidden', 'hidden-2', 'hidden-3'], codecs)
  expect(encoded.keys(ENDED)).not.toEqual([])
  const findings = await examine(encoded.bucket)
  expect(findings.problems).toEqual([])
  expect(findings.runs).toEqual({ live: 4, ended: 4 })
  await rebuild(encoded.bucket)
  const bodies = encoded.keys(RUNS).map((key) => encoded.text(key))
  expect(bodies.some((body) => body.includes('hello plain'))).toBe(true)
  expect(bodies.some((body) => /"(?:hello )?hidden/.test(body))).toBe(false)
  const name = JSON.parse(encoded.text(nameKey('patient-hidden'))) as { state: string }
  expect(JSON.parse(encoded.text(name.state))).toMatchObject({
    workflow: 'patient',
    status: 'waiting',
    input: { encoded: ['encrypt:k2'] },
    encoded: ['compress', 'encrypt:k2'],
    steps: [],
    events: 3,
  })
})

describe('object store, V1: projections', () => {
  test('are counted as missing and old, up to a number', async () => {
    await rebuild(prefix.bucket)
    const [one = '', other = ''] = prefix.keys(RUNS).filter((key) => key.endsWith('state.json'))
    prefix.space.remove(one)
    prefix.edit(other, (text) => text.replace(/"updatedAt": "\d+/, '"updatedAt": "1999'))
    const { projections } = await examine(prefix.bucket)
    expect(projections).toEqual({ looked: 8, missing: 1, old: 1 })
    const few = await examine(prefix.bucket, { projections: 3 })
    expect(few.projections.looked).toBe(3)
  })

  test('are rebuilt byte for byte, for live and ended runs', async () => {
    const written = new Map([...prefix.contents(RUNS), ...prefix.contents(NAMES)])
    expect(written.size).toBeGreaterThan(3)
    await rebuild(prefix.bucket)
    const all = new Map([...prefix.contents(RUNS), ...prefix.contents(NAMES)])
    expect(all).toEqual(new Map([...all, ...written]))
    expect(all.size).toBe(8 + 8 + 8)
    for (const key of all.keys()) prefix.space.remove(key)
    expect(await rebuild(prefix.bucket)).toBe(all.size)
    expect(new Map([...prefix.contents(RUNS), ...prefix.contents(NAMES)])).toEqual(all)
    expect(await rebuild(prefix.bucket)).toBe(0)
  })

  test('of runs that are gone are deleted', async () => {
    const gone = [runKey('gone', 'state.json'), runKey('gone', 'steps/x.json'), nameKey('gone')]
    for (const key of gone) prefix.space.write(key, '{}')
    await rebuild(prefix.bucket)
    for (const key of gone) expect(prefix.space.read(key)).toBeUndefined()
    expect(prefix.keys(RUNS).filter((key) => key.endsWith('state.json'))).toHaveLength(8)
  })

  test('that are newer than what was read are left alone', async () => {
    await rebuild(prefix.bucket)
    const [one = ''] = prefix.keys(RUNS).filter((key) => key.endsWith('state.json'))
    prefix.edit(one, (text) => text.replace(/"updatedAt": "\d+/, '"updatedAt": "2999'))
    const newer = prefix.text(one)
    expect(await rebuild(prefix.bucket)).toBe(0)
    expect(prefix.text(one)).toBe(newer)
  })
})
