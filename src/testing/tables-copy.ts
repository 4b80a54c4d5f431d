// Copies all rows of a store in memory, like a standby server.
import type { RunChange, RunRow } from '../core/stores/rules/row.ts'
import { Tables } from '../core/stores/rules/tables.ts'

export function copyOf(tables: Tables): Tables {
  const copy = new Tables()
  const rows = [...tables.live.values(), ...tables.ended.values()]
  const changes = {
    runs: rows.map((row) => changeOf(row, tables)),
    tasks: [...tables.tasks.values()],
    tasksGone: [],
    sessions: [...tables.sessions.values()],
    sessionsGone: [],
    records: [...tables.records.values()].flatMap((space) => [...space.values()]),
  }
  copy.apply(changes, 0)
  for (const [workflowId, runId] of tables.names) copy.names.set(workflowId, runId)
  return copy
}

function changeOf(row: RunRow, tables: Tables): RunChange {
  const { head, digest, startAt, inbox, outbox, ...set } = row
  const turns = tables.turns.get(head.runId) ?? []
  return {
    runId: head.runId,
    born: { head, digest, startAt },
    set,
    turns: [...turns],
    posted: inbox,
    outbox,
    streams: tables.streams.copyOf(head.runId),
  }
}
