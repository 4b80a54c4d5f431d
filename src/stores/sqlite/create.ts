// How runs come into the SQLite store: new ones, and those that begin again.
import type { StatementSync } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import {
  type AttributeChanges,
  attributeColumns,
  type ClaimedRun,
  type Created,
  type Hint,
  type InitialTurn,
  isList,
  itemsOf,
  type NewRun,
  type Post,
  type Posted,
} from '../../core/stores/driver.ts'
import type { Statements } from './statements.ts'

/** What the creator needs of the writer. */
export interface CreatorPorts {
  readonly sql: Statements
  lane(kind: 'run', of: NewRun): number
  claimed(runId: string): ClaimedRun
  post(post: Post, now: number): Posted
  tell(hint: Hint): void
}

/** The newest run of a workflow id; its status if it has ended. */
interface Latest {
  readonly run_id: string
  readonly status: string | null
}

interface AtRest {
  readonly generation: number
  readonly epoch: number
  readonly lane: number
  /** Absent if it has ended. */
  readonly session: number | null
  readonly parked_build: string | null
  readonly pin: string | null
  readonly updated_at: number
}

export class SqliteCreator {
  readonly #ports: CreatorPorts
  readonly #sql: Statements

  constructor(ports: CreatorPorts) {
    this.#ports = ports
    this.#sql = ports.sql
  }

  create(run: NewRun, now: number): Created {
    if ((run.generation ?? 1) > 1) return this.#beginAgain(run, now)
    const there = one<{ digest: string }>(this.#sql.runDigest, run.runId)
    if (there) return this.#tell(run, this.#existing(run, there.digest), now)
    const latest =
      run.workflowId === run.runId && run.reuse === 'allow' ? undefined : this.#latest(run)
    const namesake = latest && this.#namesake(run, latest, now)
    if (namesake) return this.#tell(run, namesake, now)
    const alongside = run.reuse === 'allow' && latest?.status === null ? latest.run_id : undefined
    return { ...this.#insert(run, now), ...(alongside !== undefined && { alongside }) }
  }

  setAttributes(runId: string, changes: AttributeChanges): void {
    for (const [name, value] of Object.entries(changes)) {
      this.#sql.deleteItems.run(runId, name)
      if (value === null || isList(value)) this.#sql.deleteAttribute.run(runId, name)
      if (value === null) continue
      if (isList(value)) {
        for (const [place, text] of itemsOf(value).entries())
          this.#sql.insertItem.run(runId, name, place, text)
      } else {
        const { kind, text, number } = attributeColumns(value)
        this.#sql.putAttribute.run(runId, name, kind, text, number)
      }
    }
  }

  /** The first turn of a generation; those too old to be kept go. */
  begin(runId: string, generation: number, epoch: number, past: InitialTurn): void {
    const { count, turnId, body } = past
    this.#sql.insertTurn.run(runId, generation, 0, count, turnId, epoch, body)
    if (generation > limits.generationsKept) {
      this.#sql.forgetTurns.run(runId, generation - limits.generationsKept)
    }
    this.#sql.deleteNotes.run(runId)
  }

  #tell({ message }: NewRun, created: Created, now: number): Created {
    if (!message || created.outcome !== 'existing') return created
    const { outcome } = this.#ports.post({ runId: created.runId, message }, now)
    return { ...created, posted: outcome }
  }

  #existing(run: NewRun, digest: string): Created {
    const { runId, eager } = run
    if (digest !== run.digest) return { outcome: 'conflict', runId }
    const live = eager && one<{ session: number; nonce: number }>(this.#sql.live, runId)
    const mine = live && live.session === eager?.session && live.nonce === eager.nonce
    return { outcome: 'existing', runId, ...(mine && { run: this.#ports.claimed(runId) }) }
  }

  #latest({ workflowId }: NewRun): Latest | undefined {
    return one<Latest>(this.#sql.newest, workflowId)
  }

  #namesake(run: NewRun, { run_id: runId, status }: Latest, now: number): Created | undefined {
    if (run.reuse === 'allow') return undefined
    if (run.reuse === 'terminateRunning') {
      if (run.displaced) this.#ports.post({ runId, message: run.displaced, urgent: true }, now)
      return undefined
    }
    if (run.reuse === 'returnExisting') {
      return status === null ? { outcome: 'existing', runId } : undefined
    }
    const mayFollow =
      status !== null &&
      (run.reuse === 'allowIfEnded' || (run.reuse === 'allowIfFailed' && status !== 'completed'))
    return mayFollow ? undefined : { outcome: 'refused', runId }
  }

  #insert(run: NewRun, now: number): Created {
    const { runId, workflowId, parent, digest, input, extras, past, attributes, message } = run
    const lane = this.#ports.lane('run', run)
    const own = workflowId === runId ? null : workflowId
    this.#sql.insertRun.run(
      ...[runId, lane, own, parent?.runId ?? null, parent?.generation ?? null],
      ...[parent?.key ?? null, now, digest, input, extras ?? null],
    )
    if (own !== null) this.#sql.putName.run(own, runId)
    const startAt = run.startAt ?? now + (run.delayMs ?? 0)
    const eager =
      startAt <= now && run.eager && this.#sql.session.get(run.eager.session)
        ? run.eager
        : undefined
    const [session, nonce, grants] = eager ? [eager.session, eager.nonce, 1] : [0, 0, 0]
    this.#sql.insertLive.run(
      ...[runId, lane, startAt, startAt, session, grants, nonce, grants],
      ...[eager ? 'running' : 'pending', 1, past?.count ?? 0, now, null, past?.turnId ?? 0],
    )
    if (past) this.begin(runId, 1, 0, past)
    if (attributes) this.setAttributes(runId, attributes)
    if (message) this.#sql.insertMessage.run(runId, message.id, message.body)
    if (eager) return { outcome: 'created', now, run: this.#ports.claimed(runId) }
    this.#ports.tell({ type: 'ready' })
    return { outcome: 'created', now }
  }

  // A run that has ended, or is paused, goes on as another generation of itself, from the history it is given.
  #beginAgain(run: NewRun, now: number): Created {
    const { runId, generation = 1, past } = run
    const there = one<AtRest>(this.#sql.atRest, runId)
    if (there && there.generation >= generation) {
      const first = one<{ turn_id: number }>(this.#sql.turn, runId, generation, 0)
      const same = first?.turn_id === past?.turnId
      return same ? { outcome: 'existing', runId } : { outcome: 'conflict', runId }
    }
    const rests = there?.session === null || (there?.session === 0 && there.parked_build !== null)
    if (!there || !past || !rests || there.generation !== generation - 1) {
      return { outcome: 'refused', runId }
    }
    this.#sql.keepLastTurn.run(runId)
    this.#sql.deleteClosed.run(runId)
    this.#sql.deleteLive.run(runId)
    this.#sql.deleteTasks.run(runId)
    this.#sql.insertLive.run(
      ...[runId, there.lane, now, now, 0, there.epoch, 0, 0],
      ...['pending', generation, past.count, Math.max(now, there.updated_at), there.pin],
      past.turnId,
    )
    this.begin(runId, generation, there.epoch, past)
    if (run.attributes) this.setAttributes(runId, run.attributes)
    this.#ports.tell({ type: 'ready' })
    return { outcome: 'created', now }
  }
}

function one<T>(statement: StatementSync, ...args: (string | number | null)[]): T | undefined {
  return statement.get(...args) as T | undefined
}
