// Bugs worth making on purpose. Each is one that engines of this kind have had, or that an obvious simplification of
// this one would bring; the simulation must catch every one of them, or its green means nothing.
import { edgeMutants } from './edge-mutants.ts'
import { graphMutants } from './graph-mutants.ts'
import { from, type Mutant, mutant, type Patch, patch } from './planting.ts'
import { streamMutants } from './stream-mutants.ts'

export type { Mutant } from './planting.ts'

const onObjects = (name: string, ...patches: Patch[]): Mutant => ({
  name,
  store: 'objects',
  patches,
})

const inPrograms = (name: string, ...patches: Patch[]): Mutant => ({
  name,
  store: 'memory',
  program: 'sink',
  patches,
})

const commits = 'core/stores/rules/commit.ts'
const claims = 'core/stores/rules/claim.ts'
const replica = 'stores/objects/replica.ts'
const log = 'stores/objects/log.ts'
const snapshotter = 'stores/objects/snapshotter.ts'
const compactor = 'stores/objects/compactor.ts'
const heldExecution = 'core/worker/held-execution.ts'
const turnCycle = 'core/worker/turn-cycle.ts'
const localSteps = 'core/worker/steps.ts'
const session = 'core/worker/session.ts'
const turn = 'core/kernel/turn.ts'

export const mutants: readonly Mutant[] = [
  from(
    125,
    mutant(
      'H1: a release does not look for messages that came meanwhile',
      patch(
        commits,
        'moved(run, turn, tx.inbox(run).length > 0, tx.now)',
        'moved(run, turn, tx.inbox(run).length > 9, tx.now)',
      ),
    ),
  ),
  mutant(
    'H2: history is read as it was before the lease was granted',
    patch(
      'core/stores/rules/read.ts',
      'const found = turnsOf(turns, generation)',
      'const found = turnsOf(turns.slice(0, -1), generation)',
    ),
  ),
  mutant(
    'H3: what a finished run still has to send is forgotten',
    patch(
      'core/stores/memory/store.ts',
      'of tx.undelivered()) {',
      'of tx.undelivered().filter(({ endedAt }) => endedAt === undefined)) {',
    ),
  ),
  mutant(
    'H4: a run ends although messages are unread',
    patch(commits, 'if (unread.length > 0)', 'if (unread.length > 99)'),
  ),
  from(
    16_250,
    mutant(
      'H5: a warm execution is used although another worker held the run since',
      patch(
        'core/worker/warm.ts',
        'const fits = isLast && deliveries === 1 && run.head.generation === generation',
        'const fits = run.head.generation === generation',
      ),
    ),
  ),
  mutant(
    'H6: a commit without an answer is taken for applied',
    patch(
      'core/worker/turn-writer.ts',
      'await this.#context.line.send((store) => store.commit([turn]))',
      "await this.#context.store.commit([turn]).catch(() => [{ outcome: 'applied' } as const])",
    ),
  ),
  from(
    3_800,
    mutant(
      'INV5: the store does not compare leases',
      patch(
        commits,
        "if (!isCurrent || !isHolder(run, turn.lease)) return { outcome: 'fenced' }",
        "if (!isCurrent || run.session === 0) return { outcome: 'fenced' }",
      ),
    ),
  ),
  mutant(
    'INV5: a held run is handed out again',
    patch(
      'core/stores/rules/due-index.ts',
      'const lane = row.session === 0 ? this.#kind.laneOf(row) : undefined',
      'const lane = this.#kind.laneOf(row)',
    ),
  ),
  mutant(
    'H33: a lease whose answer was lost is never found again',
    patch(claims, 'if (reconcile !== true) return []', 'if (reconcile !== null) return []'),
  ),
  mutant(
    'H9: a crash does not count as an attempt',
    patch(heldExecution, 'if (deaths === 0 || turn.ending', 'if (deaths >= 0 || turn.ending'),
  ),
  mutant(
    'H9: a step that must not run twice is begun before that is durable',
    patch('core/worker/commit.ts', 'retry.maxAttempts ?? 1) > 1', 'retry.maxAttempts ?? 1) > 0'),
  ),
  mutant(
    'H11: the timers of a held run do not fire',
    patch(
      'core/worker/waker.ts',
      'if (ms < Number.POSITIVE_INFINITY) this.wakeWithin(ms)',
      'if (ms < 0) this.wakeWithin(ms)',
    ),
  ),
  mutant(
    "H19: the worker's own clock decides what is due",
    patch(
      'core/worker/store-clock.ts',
      'return Math.floor(this.#low + this.#clock.monotonic())',
      'return this.#clock.now()',
    ),
  ),
  mutant(
    'H15: a message taken before is taken again',
    patch(
      turn,
      'if (this.#state.knows(message.id)) return undefined',
      'if (this.consumed.length > 99) return undefined',
    ),
  ),
  mutant(
    'S2: signals are not kept in the order they came',
    patch('core/stores/rules/tables.ts', '[...left, ...posted]', '[...posted, ...left]'),
  ),
  mutant(
    'INV7: a signal is acknowledged and not stored',
    patch(
      'core/stores/rules/post.ts',
      'if (!tx.post(run, message)) return',
      'if (tx.inbox(run).length === 0 && !tx.post(run, message)) return',
    ),
  ),
  from(
    7,
    mutant(
      'ruling 8: effects leave before their cause is durable',
      patch(
        turnCycle,
        '!mustCommit && canWait(uncommitted.events, turn, code.current, now)) {',
        "!mustCommit && (canWait(uncommitted.events, turn, code.current, now) || uncommitted.events.every(({ type }) => type === 'StepStarted' || type === 'StepCompleted'))) {",
      ),
    ),
  ),
  from(
    150,
    mutant(
      'INV6: a renewal that failed is taken for one that worked',
      patch(
        session,
        'failed = true',
        'this.#confirm({ now: this.#options.clock.now(), alive: true, lostTasks: [] }, sent)',
      ),
    ),
  ),
  mutant(
    'INV6: nobody stops a holder that cannot renew',
    patch(
      session,
      'this.#deadline = sent + leaseMs * limits.leaseSelfStopShare',
      'this.#deadline = Number.MAX_SAFE_INTEGER',
    ),
  ),
  mutant(
    'INV6: leases are taken over before they end',
    patch(
      'core/worker/late-sessions.ts',
      'return since + ttlMs * limits.leaseSelfStopShare',
      'return since + ttlMs * 0.2',
    ),
  ),
  mutant(
    'INV4: settlements are delivered newest first',
    patch('core/deciders/function/heap.ts', 'if (above <= value) break', 'if (above >= value) break'),
    patch('core/deciders/function/heap.ts', '(items[child] as number) >= last', '(items[child] as number) <= last'),
    patch(
      'core/deciders/function/heap.ts',
      '(items[right] as number) < (items[left] as number)',
      '(items[right] as number) > (items[left] as number)',
    ),
  ),
  mutant(
    'INV4: random numbers are not the same again',
    patch(
      'core/deciders/function/context.ts',
      'new SeededNumbers(`${runId}:${generation}${this.#scope.path}`)',
      'new SeededNumbers(`${runId}:${process.hrtime.bigint()}`)',
    ),
  ),
  mutant(
    'INV10: a child does not tell its parent how it ended',
    patch(turn, 'if (parent) outgoing.push(', 'if (parent && outgoing.length > 99) outgoing.push('),
  ),
  mutant(
    'INV14: one attempt too many',
    patch('core/policies/retry.ts', 'return attempt >= rule.maxAttempts', 'return attempt > rule.maxAttempts'),
    patch(localSteps, 'return failed >= retry.maxAttempts ||', 'return failed > retry.maxAttempts ||'),
  ),
  from(
    30,
    mutant(
      'INV14: a step that has ended and is not yet in a turn is begun again',
      patch(
        localSteps,
        'if (this.#running.get(key)?.attempt === attempt) this.#results',
        'if (this.#running.delete(key)) this.#results',
      ),
    ),
  ),
  mutant(
    'INV1: an ambiguous start is not sent again',
    patch('core/client/client.ts', 'patienceMs = limits.storePatienceMs', 'patienceMs = 0'),
    patch(
      'core/client/client.ts',
      "default:\n        throw new PawlError('STORE_UNAVAILABLE'",
      "default:\n        return new StartedHandle<Out>(this.host, runId, { workflowId, isNew: true })\n        throw new PawlError('STORE_UNAVAILABLE'",
    ),
    patch(
      'core/client/client.ts',
      'store.create([{ ...run, ...(eager && { eager }) }]))',
      'store.create([{ ...run, ...(eager && { eager }) }])).catch(() => [] as Created[])',
    ),
  ),
  onObjects(
    'S3: an object that is there is taken for one of its own',
    patch(replica, 'if (tries === 1) return false', 'if (tries > 0) return true'),
  ),
  from(
    1_230,
    onObjects(
      'S3: a number that was used, covered and deleted is taken for a new one',
      patch(replica, 'if (this.#certainty.holds) return true', 'if (n > 0) return true'),
    ),
  ),
  onObjects(
    'S3: what a snapshot covers is deleted at once',
    patch(compactor, 'modifiedAt <= bucket.now() - settings.graceMs', 'modifiedAt <= bucket.now()'),
    patch(compactor, 'modifiedAt <= since - settings.graceMs / 2', 'modifiedAt <= bucket.now()'),
  ),
  onObjects(
    'S3: a snapshot says it holds more of the log than it does',
    patch(snapshotter, 'const state = replica.dump()', 'const state = { ...replica.dump(), n: position + 1 }'),
  ),
  onObjects(
    'S3: a snapshot of what has changed leaves out a change',
    patch('stores/objects/snapshot.ts', '...changed.runs(since).map', '...changed.runs(since + 1).map'),
  ),
  from(
    140,
    onObjects(
      'S3: runs that ended while others were archived are forgotten',
      patch(replica, 'if (n > change.upTo) continue', 'if (n < 0) continue'),
    ),
  ),
  onObjects(
    'S3: a writer that comes second writes its outdated outcome',
    patch(replica, 'await this.#follow(2)\n', 'this.position++\n'),
  ),
  from(
    120,
    onObjects(
      'S3: a process that was away believes what it finds under the next number',
      patch(
        log,
        'if (!freshness.holds) await refresh()\n      const asked = freshness.moment()\n      const bodies',
        'const asked = freshness.moment()\n      const bodies',
      ),
      patch(log, 'if (!freshness.holds) continue\n', ''),
    ),
  ),
  inPrograms(
    'O2: what a run is found by is forgotten when it continues',
    patch(turn, '...foundBy(this.#head.extras.attributes, this.#state.changes),', ''),
  ),
  from(
    105,
    inPrograms(
      'O2: attributes of a turn take the place of all that the run has',
      patch(
        'core/stores/rules/transaction.ts',
        'changedAttributes(attributes, changes)',
        'changedAttributes({}, changes)',
      ),
    ),
  ),
  inPrograms(
    'C7: signals nobody waited for are not carried over to the next generation',
    patch('core/deciders/function/pending-request.ts', 'carried: unread }', 'carried: [] }'),
  ),
  inPrograms(
    'webhooks: each replay makes a token of its own',
    patch(
      'core/deciders/function/execution.ts',
      'if (known !== undefined) return known\n    const token',
      'const token',
    ),
  ),
  inPrograms(
    'S8: an update is answered before its handler is done',
    patch(
      'core/deciders/function/handlers.ts',
      'handler.run(payload, id).then(\n      (value) => this.#complete(id, message.name, value),',
      'Promise.resolve(handler.run(payload, id).catch(() => {}) && payload).then(\n      (value) => this.#complete(id, message.name, value),',
    ),
  ),
  from(
    220,
    inPrograms(
      'a completion that comes before the body has left its step is dropped',
      patch(
        turn,
        "if (open?.type !== 'step') return undefined\n    if (open.queued)",
        "if (open?.type !== 'step' || !open.left) return undefined\n    if (open.queued)",
      ),
    ),
  ),
  inPrograms(
    'a step that was left is begun again when its worker dies',
    patch(heldExecution, 'if (step.left && (step.retryAt ?? 0) > now) return []\n', ''),
    patch(heldExecution, '(open.retryAt ?? 0) > now', '!open.left && (open.retryAt ?? 0) > now'),
  ),
  inPrograms(
    'what the code waits for after it cancelled it is forgotten',
    patch('core/kernel/requests.ts', 'if (!awaitsEnd(request)) return false\n', 'return false\n'),
  ),
  mutant(
    'a run that was cancelled before it began is replayed with its code',
    patch('core/kernel/endings.ts', 'cancel && {', 'undefined && {'),
  ),
  ...graphMutants,
  ...edgeMutants,
  ...streamMutants,
]
