// The place of a run in a distributed trace.

/** What a run stores about its trace. */
export interface StoredTrace {
  /** Of a child: the run that its first ancestor is. */
  readonly root?: string
  /** The `traceparent` of the caller that started the first ancestor. */
  readonly caller?: string
  /** The run belongs to the trace of the caller; otherwise it has a trace of its own. */
  readonly join?: true
}

/** A run in its trace: everything that its ids are derived from. */
export interface RunTrace extends StoredTrace {
  readonly runId: string
  readonly generation: number
  readonly parent?: { readonly runId: string; readonly generation: number }
}
