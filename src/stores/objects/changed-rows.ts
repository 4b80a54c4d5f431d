// The log object that last changed each row, for rows that the next snapshot must write.
import type { LogEntry } from './format.ts'

export class ChangedRows {
  readonly #runs = new Map<string, number>()
  readonly #tasks = new Map<string, number>()
  readonly #sessions = new Map<number, number>()
  /** By space and key, as JSON. */
  readonly #records = new Map<string, number>()

  /** `names` are the newest runs of workflow ids before the entry is applied. */
  note({ n, changes }: LogEntry, names: ReadonlyMap<string, string>): void {
    for (const { runId, born } of changes.runs) {
      this.#runs.set(runId, n)
      // The run before it is no longer the newest of its workflow id, and its line in a snapshot says so.
      const older = born && names.get(born.head.workflowId)
      if (older !== undefined) this.#runs.set(older, n)
    }
    for (const { taskId } of changes.tasks) this.#tasks.set(taskId, n)
    for (const taskId of changes.tasksGone) this.#tasks.set(taskId, n)
    for (const { session } of changes.sessions) this.#sessions.set(session, n)
    for (const session of changes.sessionsGone) this.#sessions.set(session, n)
    for (const { space, key } of changes.records) this.#records.set(JSON.stringify([space, key]), n)
  }

  /** Notes that log object n moved the run from memory to a segment. */
  noteGone(runId: string, n: number): void {
    this.#runs.set(runId, n)
  }

  /** Drops the changes up to this number, because a snapshot covers them. */
  forget(upTo: number): void {
    for (const map of [this.#runs, this.#tasks, this.#records]) forgetIn(map, upTo)
    forgetIn(this.#sessions, upTo)
  }

  runs(since: number): string[] {
    return behind(this.#runs, since)
  }

  tasks(since: number): string[] {
    return behind(this.#tasks, since)
  }

  sessions(since: number): number[] {
    return behind(this.#sessions, since)
  }

  records(since: number): [space: string, key: string][] {
    return behind(this.#records, since).map((id) => JSON.parse(id) as [string, string])
  }
}

function forgetIn<Id>(map: Map<Id, number>, upTo: number): void {
  for (const [id, n] of map) if (n <= upTo) map.delete(id)
}

function behind<Id>(map: ReadonlyMap<Id, number>, since: number): Id[] {
  return [...map].filter(([, n]) => n > since).map(([id]) => id)
}
