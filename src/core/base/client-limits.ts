// The limits that a client in a browser needs, too. They are in a file of their own, because a bundler keeps or drops an
// object as a whole; `limits` has them all.

export const clientLimits = {
  /** One value (an input, a result, the payload of a signal), as UTF-8 bytes of its JSON. */
  payloadBytesMax: 1_048_576,
  /** Levels of nesting in one value. */
  payloadDepthMax: 200,
  /** Characters of a name: a workflow, activity, step, signal or queue. */
  nameLengthMax: 256,
  /** Characters of an id that users choose, such as a workflow id. */
  idLengthMax: 512,
  /** Failures in a chain of causes. */
  causeDepthMax: 10,
  /** Characters kept of the message of a failure. */
  messageLengthMax: 16_384,
  /** Characters kept of the stack of a failure. */
  stackLengthMax: 16_384,
  /** Issues of a schema that the message of an error lists. */
  issuesToldMax: 10,
  /** Characters of the key of a record; with the longest space it fits into a Postgres index entry. */
  recordKeyLengthMax: 512,
  /** The longest duration: 100 years. */
  durationMsMax: 100 * 366 * 86_400_000,
  /** Runs of an engine batch that are changed at once. */
  batchLanes: 16,
  /** Runs in one page of a list. */
  listPageMax: 1_000,
  /** Levels of nesting in the body of a request: those of a value, and of what contains it. */
  requestDepthMax: 220,
  /** Bytes of the body of a request to the server. */
  requestBytesMax: 2 * 1_048_576,
  /** Time after which a client gives up on an unavailable store. */
  storePatienceMs: 30_000,
  /** Elements of one batch to a store. */
  batchElements: 256,
  /** Longest wait that a client asks of a server in one request. Proxies cut off requests that take longer. */
  longPollMs: 20_000,
  /** Time in which a server must answer a request that does not wait: it may itself wait for its store. */
  serverAnswerMs: 40_000,
  /** The shortest and the longest pause before a client repeats a request. */
  serverRetryMsMin: 50,
  serverRetryMsMax: 2_000,
} as const
