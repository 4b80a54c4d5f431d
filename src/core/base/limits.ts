// Every limit of pawl, in one place, units last. Nothing in the system grows without one of these.
import { assert } from './assert.ts'

export const limits = {
  /** One value: an input, a result, a signal's payload, as UTF-8 bytes of its JSON. */
  payloadBytesMax: 1_048_576,
  payloadDepthMax: 200,
  /** Everything one turn writes. Larger turns would hold up the batch they travel in. */
  turnBytesMax: 16 * 1_048_576,
  /** Replay is linear in history; a run past this is failed with advice to split it. */
  historyEventsMax: 100_000,
  /** From here on the code is told that it might continue as new. */
  continueSuggestedEvents: 10_000,
  /** Text of the turns of one generation: the same for a run with few and large ones. A quarter of it is logged. */
  historyBytesMax: 256 * 1_048_576,
  historyBytesWarned: 64 * 1_048_576,
  nameLengthMax: 256,
  idLengthMax: 512,
  causeDepthMax: 10,
  messageLengthMax: 16_384,
  stackLengthMax: 16_384,
  /** What a schema finds wrong, as far as an error tells it. */
  issuesToldMax: 10,
  /** What a run is found by: how many, and how long a text. With the longest name it just fits into an index of Postgres. */
  attributesMax: 64,
  attributeBytesMax: 1_900,
  /** A list of texts: how many, and all of them together. */
  attributeItemsMax: 64,
  attributeListBytesMax: 8_192,
  /** A shared value, its key, and how many are listed at once. With the longest name of a space the key fits into an index of Postgres. */
  recordBytesMax: 1_048_576,
  recordKeyLengthMax: 512,
  recordsListedMax: 500,
  durationMsMax: 100 * 366 * 86_400_000,
  retryAttemptsMax: 1_000_000,
  /** One cron expression, and how many make up one timing. */
  cronLengthMax: 1_000,
  cronExpressionsMax: 100,
  /** Timings of one schedule. */
  timingsMax: 20,
  /** How far ahead a slot is looked for: 29 February may be eight years away, and nothing is further. */
  cronYearsMax: 9,
  everyMsMin: 1_000,
  /** Time zones that are kept ready. */
  zonesKept: 200,

  /** A session of a worker that has not been renewed for this long is dead. */
  leaseMs: 30_000,
  leaseMsMin: 200,
  leaseMsMax: 3_600_000,
  /** A lease is renewed three times in its life, so it survives two lost renewals. */
  leaseRenewalsPerLife: 3,
  /** A holder without a confirmed renewal stops itself after this share of the lease. */
  leaseSelfStopShare: 2 / 3,
  /** After a claim whose answer was lost, this many claims look for what it took; and one now and then without cause. */
  reconcileTimes: 3,
  renewalsPerReconcile: 10,
  /** What was found again may be lost again, so the next claim is in no hurry. */
  reconcilePauseMs: 250,
  /** A turn may be stamped this far ahead of the store's own clock, or as late as anything before it. */
  clockAheadMsMax: 5_000,
  /** A clock that is off by more than this since it was last read has jumped; by less, it is only a little fast or slow. */
  clockStepMs: 50,
  /** A renewal that is later than this, or than a twelfth of the lease, was missed; and as many sessions are told of. */
  renewalLateMsMax: 1_000,
  lateSessionsMax: 1_000,
  /** How long a holder waits before it sends a turn again that was stamped ahead of the store's clock. */
  aheadRetryMs: 500,
  /** A run whose worker died this often, while running alone, is parked as poison. */
  poisonDeliveries: 8,

  /** How much of a failure's message a line of the log has. */
  loggedLengthMax: 500,
  /** What a worker may be told to hold and to run at once, and to keep in memory. */
  concurrencyMax: 100_000,
  warmExecutionsMax: 1_000_000,
  /** Runs a worker holds at once, and step bodies it runs at once, unless told otherwise. */
  workflowsPerWorker: 1_000,
  activitiesPerWorker: 200,
  /** Leases offered to new runs whose creation has not been answered. */
  offersMax: 10_000,
  /** Suspended executions kept in memory, by count and by the size of their histories. */
  warmExecutions: 2_000,
  warmHistoryBytes: 64 * 1_048_576,
  graceMs: 30_000,
  /** What a worker that has run out of grace still waits for its last commits. */
  abortGraceMs: 2_000,
  /** A run whose next timer is this near is kept rather than released and claimed again. */
  holdForTimerMs: 25,
  /** Steps that were begun without a write are recorded as begun after this long. */
  carryMsMax: 1_000,

  /** A slot of a schedule that is noticed later than this was missed. */
  scheduleLateMs: 10_000,
  /** Missed slots of a schedule that are counted for one outage. */
  missedCountedMax: 10_000,
  /** Slots started at most for one back-fill. */
  backfillSlotsMax: 10_000,
  /** What the runs that a schedule starts in one turn may take, unless it is one; each is counted as this at least. */
  turnSlotBytes: 1_048_576,
  scheduleRunBytes: 10_240,
  /** Runs under way whose results a schedule may have to take in one turn although it has no use for them. */
  scheduleOthersMax: 8,
  /** A schedule begins a new history after this many slots and messages, or when the runs it started take this much. */
  scheduleRounds: 100,
  scheduleHistoryBytes: 16 * 1_048_576,
  /** Back-fills that a schedule carries into a new history, and what it may need there beside its plan. */
  backfillsCarried: 400,
  scheduleStateBytes: 65_536,
  /** Why a schedule rests, as far as it is kept. */
  noteLengthMax: 500,
  /** Slots of a schedule that are shown ahead. */
  slotsShown: 5,
  /** Its newest runs that are shown. */
  recentRunsShown: 5,

  /** A step's transaction on SQLite may keep the file to itself this long, and waits as long for it. */
  sqliteTransactionMsMax: 5_000,
  /** How long a call waits for a SQLite file that another process has locked, and the longest pause between two tries. */
  sqliteBusyMsMax: 10_000,
  sqlitePauseMsMax: 20,

  /** Details of heartbeats are written down at most this often. */
  heartbeatKeptMs: 1_000,

  /** Elements and bytes of one batch to a store. */
  batchElements: 256,
  batchBytes: 1_048_576,
  claimRuns: 256,
  /** A worker with a backlog asks for more when this many places are free. */
  claimRunsMin: 64,
  /** Sleeping runs of others that a claim looks past for the next of its own. Behind them, it is told to look again when the last is due. */
  runsPassedMax: 1_000,
  /** Runs whose holder died once are tried in groups of this many at first; each group that does no harm lets the next
   * be twice as large, up to a limit. Those that lost more are tried alone. */
  suspectsTogether: 32,
  suspectsTogetherMax: 128,
  /** A worker that lives this long after it has begun suspects tries the next. */
  probationMs: 100,
  /** Runs that lost this many holders or more are tried alone until they have come to something, or this has passed. */
  graveDeaths: 3,
  graveProbationMs: 2_000,
  /** How long a busy worker holds back for suspects, and how long it does not after that was in vain. */
  quietMsMax: 500,
  restlessMs: 30_000,
  /** How often an idle worker asks even though nothing woke it. */
  idlePollMs: 5_000,
  /** How often a worker asks for messages to the runs it holds although nobody hinted at any. */
  newsPollMs: 1_000,
  /** The first and the longest pause between two tries of a store call that failed. */
  storeRetryMsMin: 10,
  storeRetryMsMax: 2_000,
  /** A worker tells of a store it cannot use after this long, and this often while that lasts. */
  outageToldAfterMs: 1_000,
  outageToldEveryMs: 60_000,
  /** It is over when the store has answered every time for so long; more than calls wait between two tries. */
  outageOverAfterMs: 5_000,
  /** How often a claim on Postgres looks at all that was due, and not only at what became due since the last. */
  claimAllMs: 10_000,
  /** How long a write to Postgres waits for a row that another transaction has locked: alone, and with others in a batch. */
  lockMsMax: 2_000,
  lockInBatchMsMax: 100,
  /** Elements of batches that wait for locked rows at once, and how often each is tried before its caller is told. */
  lockedAtOnce: 2,
  lockedTries: 15,
  /** A transaction of a step that has locked its run is rolled back if its process says nothing for so long. */
  transactionIdleMsMax: 10_000,
  /** Pause between two tries of a migration that could not have its locks. */
  migrationPauseMs: 500,
  /** Functions of a release of pawl that no worker has used for so long are dropped. */
  releaseUnusedMs: 86_400_000,
  /** A connection that nobody used for so long is closed. Opening one takes longer than most calls. */
  connectionIdleMs: 300_000,
  /** Connections for lists and counts, beside those for all else. */
  listConnectionsMax: 2,
  /** A client gives up on an unavailable store after this long. */
  storePatienceMs: 30_000,
  /** `open` says that it waits for the store after this long. */
  openNoticeMs: 1_000,
  /** How soon the answer to an update is looked for. */
  updatePollMsMin: 5,
  resultPollMsMin: 50,
  resultPollMsMax: 2_000,

  /** Log objects between two snapshots, and bytes of one object. */
  snapshotObjects: 256,
  objectBytes: 8 * 1_048_576,
  /** A snapshot up to this size is one object; a larger one is a list of parts of about the second size. */
  snapshotBytes: 1_048_576,
  snapshotPartBytes: 8 * 1_048_576,
  /** Parts of a snapshot before everything is written anew. */
  snapshotPartsMax: 256,
  /** Turns of one run in one line of a snapshot; and how long a process works at a snapshot without a pause. */
  snapshotLineBytes: 1_048_576,
  snapshotSliceMs: 5,
  /** What one object carries at most. It is fewer than the rows of ended runs that are kept at hand. */
  objectWishes: 2_000,
  /** Ended runs that are worth a segment, how many alike segments are merged, and how large the outcome may get. */
  segmentRuns: 512,
  segmentsAlikeMax: 8,
  segmentRunsMax: 20_000,
  segmentBytesMax: 64 * 1_048_576,
  /** What a snapshot made needless is kept this long, for those who do not know of it yet. */
  objectGraceMs: 600_000,
  /** How often a process looks for what others wrote: soon after they did, and when they have not for long. */
  objectPollMsMin: 250,
  objectPollMsMax: 2_000,
  /** A call gives up on storage that gives no answer after this long. */
  objectPatienceMs: 10_000,
  /** Log objects that a process creates in a row before it pauses for others: while they use the pauses, and while not. */
  objectWinsMin: 2,
  objectWinsMax: 64,
  /** What others may need to read and to write, at most: nobody waits for them longer. */
  objectPauseMsMax: 1_000,
  /** Runs shown to people as objects of their own: at a time, per second, remembered, and looked at. */
  projectionsAtOnce: 4,
  projectionsPerSecond: 1,
  projectionsKnown: 10_000,
  projectionsLookedAt: 1_000,
  /** Objects of them that are written at a time, and how long closing a store waits for that. */
  projectionLanes: 16,
  projectionsCloseMs: 10_000,
  /** How far apart two processes may see the storage's clock. */
  projectionOverlapMs: 2_000,
  projectionObjectsMax: 100,
  /** A request to object storage that takes longer has said nothing. */
  objectRequestMsMax: 20_000,
  /** What S3 takes, in bytes of UTF-8, with the store's prefix. */
  objectKeyBytesMax: 1_024,
  /** A conditional write that met another one under way is sent again so often, after pauses that grow from this. */
  objectConflictRetries: 8,
  objectConflictPauseMs: 20,
  /** Objects deleted at once. */
  objectDeletesAtOnce: 16,
  /** A page of a list of objects. */
  objectListPage: 1_000,

  /** Bodies that codecs work on at once, and from which size on they do unless told otherwise. */
  codecsAtOnce: 16,
  compressAboveBytes: 1_024,
  offloadAboveBytes: 65_536,
  /** What was fetched from where it was offloaded to and is kept at hand. */
  offloadCacheBytes: 16 * 1_048_576,
  /** What was decompressed and is larger than this was written by nobody. */
  decompressedBytesMax: 64 * 1_048_576,
  /** What could not be read is tried again after this long, and at first much sooner. */
  unreadableRetryMsMin: 100,
  unreadableRetryMsMax: 30_000,

  /** A request of a built-in handler, and what is read of its answer: whole, or the head of one that says no. */
  httpUrlLengthMax: 8_192,
  httpRequestBytesMax: 1_048_576,
  httpHeaderBytesMax: 16_384,
  httpResponseBytesMax: 1_000_000,
  httpErrorBytesMax: 2_048,
  httpRedirectsMax: 5,
  /** What such a request may take in all, unless told otherwise, and told whatever. */
  httpTimeoutMs: 30_000,
  llmTimeoutMs: 120_000,
  mailTimeoutMs: 60_000,
  handlerTimeoutMsMax: 600_000,
  /** A server that wants to be left alone for longer is asked again after this. */
  retryAfterMsMax: 3_600_000,
  /** Longer idempotency keys are refused by some services. */
  idempotencyHeaderLengthMax: 255,
  /** How old, or how far ahead, a webhook may be for whoever verifies it. */
  webhookToleranceSeconds: 300,
  /** One mail: text and HTML together, its subject, its recipients, and what is attached in all. */
  mailBodyBytesMax: 1_048_576,
  mailSubjectLengthMax: 500,
  mailAddressLengthMax: 254,
  mailRecipientsMax: 100,
  mailAttachmentsMax: 20,
  mailAttachmentBytesMax: 1_048_576,

  /** A graph given as data: its text, and what is stored of it. It leaves room for what is stored beside it. */
  graphBytesMax: 1_000_000,
  graphDepthMax: 100,
  graphNodesMax: 10_000,
  graphEdgesMax: 100_000,
  /** One text in it, one expression in a text, and all expressions together. */
  graphTextLengthMax: 262_144,
  graphExpressionLengthMax: 2_000,
  graphExpressionDepthMax: 32,
  graphExpressionsMax: 50_000,
  /** Lines of YAML, and its brackets, braces and commas, which are counted before it is parsed. */
  graphLinesMax: 100_000,
  graphSignsMax: 200_000,
  /** Words and signs of YAML, lines and spaces among them; and references to anchors. */
  graphTokensMax: 500_000,
  graphAliasesMax: 1_000,
  /** Problems that are told of, in the details of the error and in its message. */
  graphProblemsMax: 100,
  graphProblemsTold: 20,
  /** Characters that the templates of one input may put together. */
  graphTextMadeMax: 1_048_576,

  /** Runs of a batch that are worked on at once. */
  batchLanes: 16,
  listPageMax: 1_000,
  listPageDefault: 50,
  /** What SQLite reads at a time for a list: rows it looks at, rows it counts, and runs it shows. */
  listSliceRuns: 1_000,
  countSliceRuns: 10_000,
  listShownRuns: 50,
  /** Names and their queues and priorities that are looked at one by one. Of more, all runs are looked at. */
  listLanesMax: 64,
  historyPageTurns: 500,
  /** A page ends with the turn that makes it as large as this, so that no page holds many of the largest. */
  historyPageBytes: 8 * 1_048_576,
  /** Generations of a run whose history is kept, the newest among them. */
  generationsKept: 16,
  /** Ids of messages that a generation remembers of the one before, so that one that is sent again is taken once. */
  messageIdsKept: 1_000,

  /** A worker looks this often for definitions that are new in the store, and for what was said about builds; and this
   * often while others write. */
  catalogueRefreshMs: 30_000,
  catalogueHeardMs: 1_000,
  /** And reads all their names this often, even if nobody has said that there are others. */
  catalogueListMs: 60_000,
  /** Definitions from the store that a worker keeps ready. */
  definitionsKept: 1_000,
  /** Items a step of a graph is done for; and what the inputs of those under way may take in all, unless it is one. */
  graphItemsMax: 10_000,
  graphItemsBytes: 1_048_576,
} as const

assert(limits.leaseRenewalsPerLife >= 3, 'a lease survives two lost renewals')
assert(limits.leaseSelfStopShare < 1, 'a holder stops before others may take over')
assert(
  limits.sqliteTransactionMsMax < limits.leaseMs / limits.leaseRenewalsPerLife,
  'a transaction that keeps all others from writing costs nobody a lease',
)
assert(
  limits.sqliteTransactionMsMax < limits.sqliteBusyMsMax,
  'who waits for a transaction of another process outlasts it',
)
assert(
  (limits.scheduleOthersMax + 2) * limits.payloadBytesMax + limits.turnSlotBytes <
    limits.turnBytesMax,
  'a schedule can take the results of all runs under way at once',
)
assert(
  limits.httpResponseBytesMax + limits.httpHeaderBytesMax < limits.payloadBytesMax,
  'an answer that was read can be recorded',
)
assert(limits.payloadBytesMax <= limits.turnBytesMax, 'a turn can hold at least one payload')
assert(limits.graphBytesMax < limits.payloadBytesMax, 'a graph given as data can be stored')
assert(limits.graphDepthMax < limits.payloadDepthMax, 'and so can what holds it')
