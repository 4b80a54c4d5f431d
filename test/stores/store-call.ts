// One call of a store, as data.
import type {
  ClaimRequest,
  EndedQuery,
  EndedRun,
  ListQuery,
  NewRun,
  Note,
  Outbound,
  Post,
  RecordOperation,
  SessionBeat,
  StreamBatch,
  TaskOutcome,
  TransferOperation,
  TurnCommit,
} from '../../src/core/stores/store.ts'

export type StoreCall =
  | { readonly method: 'create'; readonly given: readonly NewRun[] }
  | { readonly method: 'post'; readonly given: readonly Post[] }
  | { readonly method: 'claim'; readonly given: ClaimRequest }
  | { readonly method: 'commit'; readonly given: readonly TurnCommit[] }
  | { readonly method: 'settle'; readonly given: readonly TaskOutcome[] }
  | { readonly method: 'note'; readonly given: readonly Note[] }
  | { readonly method: 'records'; readonly given: readonly RecordOperation[] }
  | { readonly method: 'append'; readonly given: readonly StreamBatch[] }
  | { readonly method: 'renew'; readonly given: SessionBeat }
  | { readonly method: 'purge'; readonly given: readonly EndedRun[] }
  | { readonly method: 'ended'; readonly given: EndedQuery }
  | { readonly method: 'transfer'; readonly given: readonly TransferOperation[] }
  | { readonly method: 'list'; readonly given: ListQuery }

/** Ids of the runs a call concerns, so that their rows can be compared after it. */
export function runsOf(call: StoreCall): string[] {
  switch (call.method) {
    case 'create':
      return call.given.map(({ runId }) => runId)
    case 'post':
    case 'note':
    case 'append':
    case 'purge':
      return call.given.map(({ runId }) => runId)
    case 'commit':
      return call.given.flatMap((turn) => [turn.runId, ...turn.outbox.map(targetOf)])
    case 'transfer':
      return call.given.map((each) => (each.type === 'put' ? each.run.head.runId : each.runId))
    default:
      return []
  }
}

function targetOf(item: Outbound): string {
  return item.type === 'post' ? item.runId : item.run.runId
}
