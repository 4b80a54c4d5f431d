// Every limit of pawl, in one place, with the unit at the end of its name. Nothing in the system grows without one.

import { assert } from './assert.ts'

export const limits = {
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
  /** Runs in one page of those that a retention looks at. */
  purgePage: 500,
  /** Ended runs that one call deletes: at least, at first, and at most. */
  purgeChunkMin: 16,
  purgeChunk: 64,
  purgeChunkMax: 512,
  /** Duration of such a call below which the next one takes more runs, and above which it takes fewer. */
  purgeMsMin: 25,
  purgeMsMax: 100,
  /** A purge rests so many times as long as it worked, and at most so long, so that others hardly notice it. */
  purgeRest: 9,
  purgeRestMsMax: 2_000,
  /** Time that one step of the retention, or one call of a client, goes on deleting. */
  purgeStepMs: 5_000,
  /** The shortest and the longest time between two passes of the retention. */
  retentionMsMin: 60_000,
  retentionMsMax: 3_600_000,
  /** Ended runs that SQLite deletes in one transaction. */
  purgeAtOnce: 64,
  /** Free pages that a SQLite file keeps beside a share of its size, and pages it returns to the disk at once. */
  freePagesKept: 2_000,
  freePagesReturned: 64,
  /** Elements of one batch to a store. */
  batchElements: 256,
  /** Longest wait that a client asks of a server in one request. Proxies cut off requests that take longer. */
  longPollMs: 20_000,
  /** Time in which a server must answer a request that does not wait: it may itself wait for its store. */
  serverAnswerMs: 40_000,
  /** The shortest and the longest pause before a client repeats a request. */
  serverRetryMsMin: 50,
  serverRetryMsMax: 2_000,
  /** Everything one turn writes; a larger turn would hold up the batch it is written with. */
  turnBytesMax: 16 * 1_048_576,
  /** Events of one generation; replay is linear in them, so a run with more fails with advice to split it. */
  historyEventsMax: 100_000,
  /** Events from which `ctx.info.suggestsContinue` is true. */
  continueSuggestedEvents: 10_000,
  /** Text of all turns of one generation; a run with more fails. */
  historyBytesMax: 256 * 1_048_576,
  /** Text of all turns of one generation from which a worker logs a warning. */
  historyBytesWarned: 64 * 1_048_576,
  /** Attributes of one run. */
  attributesMax: 64,
  /** Bytes of one text attribute; with the longest name it fits into a Postgres index entry. */
  attributeBytesMax: 1_900,
  /** Texts in an attribute that is a list. */
  attributeItemsMax: 64,
  /** Bytes of all texts in an attribute that is a list. */
  attributeListBytesMax: 8_192,
  /** Bytes of the value of one record. */
  recordBytesMax: 1_048_576,
  /** Records that one call lists. */
  recordsListedMax: 500,
  /** The largest `maxAttempts` of a retry policy. */
  retryAttemptsMax: 1_000_000,
  /** Characters of one cron expression. */
  cronLengthMax: 1_000,
  /** Cron expressions in one timing. */
  cronExpressionsMax: 100,
  /** Timings in one schedule. */
  timingsMax: 20,
  /** Years searched for the next slot; two 29 Februaries are at most eight years apart. */
  cronYearsMax: 9,
  /** The shortest interval of a timing with `every`. */
  everyMsMin: 1_000,
  /** Time zones kept in memory. */
  zonesKept: 200,

  /** Default time without a renewal after which the session of a worker is dead. */
  leaseMs: 30_000,
  /** The shortest lease a worker can be configured with. */
  leaseMsMin: 200,
  /** The longest lease a worker can be configured with. */
  leaseMsMax: 3_600_000,
  /** How long a call that works until nothing is due may take by default. */
  untilIdleMs: 20_000,
  untilIdleMsMin: 500,
  untilIdleMsMax: 3_600_000,
  /** Time between two claims of such a call that waits only to learn whether a late session is dead. */
  lateLookMs: 500,
  /** Renewals of a lease before it expires; with three, a lease survives two lost renewals. */
  leaseRenewalsPerLife: 3,
  /** Share of the lease after which a holder without a confirmed renewal stops itself. */
  leaseSelfStopShare: 2 / 3,
  /** Sessions that stopped themselves and that a worker closes when it stops. */
  deadSessionsKept: 4,
  /** Claims that look for leases granted by a claim whose answer was lost. */
  reconcileTimes: 3,
  /** Renewals between two claims that look for lost leases without a reason to. */
  renewalsPerReconcile: 10,
  /** Pause after a claim found a lost lease, because its own answer may be lost, too. */
  reconcilePauseMs: 250,
  /** How far ahead of the store's clock a turn may be stamped, unless the run's last update was as late. */
  clockAheadMsMax: 5_000,
  /** Difference between two readings of a clock from which the clock jumped instead of drifted. */
  clockStepMs: 50,
  /** The longest delay until a renewal counts as missed; for short leases it is a twelfth of the lease. */
  renewalLateMsMax: 1_000,
  /** Late sessions that a claim reports. */
  lateSessionsMax: 1_000,
  /** Pause before a holder sends a turn again that was stamped ahead of the store's clock. */
  aheadRetryMs: 500,
  /** Workers that died while they ran this run alone; then it is paused as poison. */
  poisonDeliveries: 8,

  /** Characters of the message of a failure in a log line. */
  loggedLengthMax: 500,
  /** The largest `concurrency` a worker can be configured with. */
  concurrencyMax: 100_000,
  /** The largest number of warm executions a worker can be configured with. */
  warmExecutionsMax: 1_000_000,
  /** Default for the runs a worker holds at once. */
  workflowsPerWorker: 1_000,
  /** Default for the step bodies a worker runs at once. */
  activitiesPerWorker: 200,
  /** Leases a worker offered to new runs whose creation was not answered yet. */
  offersMax: 10_000,
  /** Default for the suspended executions a worker keeps in memory. */
  warmExecutions: 2_000,
  /** History of all suspended executions a worker keeps in memory. */
  warmHistoryBytes: 64 * 1_048_576,
  /** Default time a stopping worker gives to step bodies that are in progress. */
  graceMs: 30_000,
  /** Time for the last commits of a worker whose grace period has ended. */
  abortGraceMs: 2_000,
  /** A run whose next timer is due within this time is kept instead of released and claimed again. */
  holdForTimerMs: 25,
  /** Time after which steps that were started without a write are recorded as started. */
  carryMsMax: 1_000,

  /** Delay from which a slot of a schedule counts as missed. */
  scheduleLateMs: 10_000,
  /** Missed slots of a schedule that are counted for one outage. */
  missedCountedMax: 10_000,
  /** Slots that one back-fill starts. */
  backfillSlotsMax: 10_000,
  /** Size of all runs a schedule starts in one turn; a single larger run is still started. */
  turnSlotBytes: 1_048_576,
  /** Size that a run started by a schedule is counted as at least. */
  scheduleRunBytes: 10_240,
  /** Runs in progress whose unneeded results a schedule may have to receive in one turn. */
  scheduleOthersMax: 8,
  /** Slots and messages after which a schedule continues as new. */
  scheduleRounds: 100,
  /** Size of all runs started after which a schedule continues as new. */
  scheduleHistoryBytes: 16 * 1_048_576,
  /** Back-fills that a schedule carries into its next generation. */
  backfillsCarried: 400,
  /** Bytes that the state of a schedule may need beside its plan. */
  scheduleStateBytes: 65_536,
  /** Characters kept of the note that says why a schedule is paused. */
  noteLengthMax: 500,
  /** Next slots that the description of a schedule shows. */
  slotsShown: 5,
  /** Newest runs that the description of a schedule shows. */
  recentRunsShown: 5,

  /** Duration of a step's transaction on SQLite, and of its wait for the lock of the file. */
  sqliteTransactionMsMax: 5_000,
  /** Time a call waits for a SQLite file that another process has locked. */
  sqliteBusyMsMax: 10_000,
  /** The longest pause between two tries for a locked SQLite file. */
  sqlitePauseMsMax: 20,

  /** Time between two writes of the details of heartbeats. */
  heartbeatKeptMs: 1_000,

  /** Bytes of one item of a stream. */
  streamItemBytesMax: 262_144,
  /** Items of one batch to a stream, and the bytes after which it takes no more items. */
  streamBatchItems: 256,
  streamBatchBytes: 65_536,
  /** Time for which a step collects items before it sends them. */
  streamDelayMs: 50,
  /** Bytes that wait to be sent, from which writing to a stream waits for room. */
  streamWaitingBytes: 262_144,
  /** Items, bytes and parts of one stream, and streams of one run. */
  streamItemsMax: 1_000_000,
  streamBytesMax: 64 * 1_048_576,
  streamPartsMax: 10_000,
  streamsOfRun: 64,
  /** Batches that a reader of a stream loads at a time. */
  streamPageBatches: 16,
  /** The shortest and the longest time between two looks for new items of the streams that are read. */
  streamPollMsMin: 100,
  streamPollMsMax: 1_000,

  /** Bytes of one batch to a store. */
  batchBytes: 1_048_576,
  /** Runs that one claim asks for. */
  claimRuns: 256,
  /** Free places from which a worker with a backlog claims more runs. */
  claimRunsMin: 64,
  /** Sleeping runs of other workers that a claim skips; after the last, it reports when to look again. */
  runsPassedMax: 1_000,
  /** Runs whose holder died once that are tried together at first; each harmless group doubles it. */
  suspectsTogether: 32,
  /** Runs whose holder died once that are ever tried together. */
  suspectsTogetherMax: 128,
  /** Time a worker must survive with a group of suspects before it tries the next. */
  probationMs: 100,
  /** Deaths of holders from which a run is tried alone. */
  soloDeaths: 3,
  /** Time after which a run that is tried alone no longer keeps other suspects waiting. */
  graveProbationMs: 2_000,
  /** Time a busy worker claims nothing else, so that it can try suspects. */
  holdBackMsMax: 500,
  /** Time a worker does not hold back for suspects after it did so in vain. */
  holdBackPauseMs: 30_000,
  /** Time between two claims of an idle worker that received no hint. */
  idlePollMs: 5_000,
  /** Time between two reads of messages to held runs when no hint arrived. */
  inboxPollMs: 1_000,
  /** The first pause before a failed store call is repeated. */
  storeRetryMsMin: 10,
  /** The longest pause before a failed store call is repeated. */
  storeRetryMsMax: 2_000,
  /** Time after which a worker logs that the store is unavailable. */
  outageToldAfterMs: 1_000,
  /** Time between two log lines about the same outage. */
  outageToldEveryMs: 60_000,
  /** Time of successful calls after which an outage is over; longer than the pause between two tries. */
  outageOverAfterMs: 5_000,
  /** Time between two claims on Postgres that look at all due runs, not only at newly due ones. */
  claimAllMs: 10_000,
  /** Time a single write to Postgres waits for a row that another transaction has locked. */
  lockMsMax: 2_000,
  /** Time a write to Postgres in a batch waits for a row that another transaction has locked. */
  lockInBatchMsMax: 100,
  /** Elements that wait for locked rows at once. */
  lockedAtOnce: 2,
  /** Tries of an element whose rows are locked before its caller gets an error. */
  lockedTries: 15,
  /** Silence of a process after which the transaction of its step is rolled back. */
  transactionIdleMsMax: 10_000,
  /** Pause between two tries of a migration that did not get its locks. */
  migrationPauseMs: 500,
  /** Time without use after which the SQL functions of a release of pawl are dropped. */
  releaseUnusedMs: 86_400_000,
  /** Time without use after which a connection is closed. */
  connectionIdleMs: 300_000,
  /** Connections for lists and counts, beside those for everything else. */
  listConnectionsMax: 2,
  /** Time after which `open` logs that it waits for the store. */
  openNoticeMs: 1_000,
  /** The shortest time between two reads of the answer to an update. */
  updatePollMsMin: 5,
  /** The shortest time between two reads of the result of a run. */
  resultPollMsMin: 50,
  /** The longest time between two reads of the result of a run. */
  resultPollMsMax: 2_000,

  /** Log objects between two snapshots. */
  snapshotObjects: 256,
  /** Bytes of one log object. */
  objectBytes: 8 * 1_048_576,
  /** Size from which a snapshot is a list of parts instead of one object. */
  snapshotBytes: 1_048_576,
  /** Approximate size of one part of a snapshot. */
  snapshotPartBytes: 8 * 1_048_576,
  /** Parts of a snapshot before it is written anew as a whole. */
  snapshotPartsMax: 256,
  /** Turns of one run in one line of a snapshot. */
  snapshotLineBytes: 1_048_576,
  /** Time a process works on a snapshot without a pause for other work. */
  snapshotSliceMs: 5,
  /** Writes in one log object; fewer than the rows of ended runs kept in memory. */
  objectWritesMax: 2_000,
  /** Ended runs that are moved to one segment. */
  segmentRuns: 512,
  /** Segments of about the same size that are merged into one. */
  segmentsAlikeMax: 8,
  /** Runs in a merged segment. */
  segmentRunsMax: 20_000,
  /** Bytes of a merged segment. */
  segmentBytesMax: 64 * 1_048_576,
  /** Time an object is kept after a snapshot replaced it, for processes that still use it. */
  objectGraceMs: 600_000,
  /** Time between two reads of the log soon after another process wrote. */
  objectPollMsMin: 250,
  /** Time between two reads of the log when no other process writes. */
  objectPollMsMax: 2_000,
  /** Time after which a call gives up on object storage that does not answer. */
  objectPatienceMs: 10_000,
  /** Log objects a process creates in a row before it pauses, while other processes use the pauses. */
  objectWinsMin: 2,
  /** Log objects a process creates in a row before it pauses, while no other process uses the pauses. */
  objectWinsMax: 64,
  /** The longest pause that lets other processes read and write the log. */
  objectPauseMsMax: 1_000,
  /** Runs projected at once. */
  projectionsAtOnce: 4,
  /** Runs projected per second. */
  projectionsPerSecond: 1,
  /** Projected runs that a process remembers. */
  projectionsKnown: 10_000,
  /** Changed runs that a process considers for projection at a time. */
  projectionsLookedAt: 1_000,
  /** Objects of projections written at once. */
  projectionLanes: 16,
  /** Time that closing a store waits for its projections. */
  projectionsCloseMs: 10_000,
  /** How far apart two processes may read the storage's clock. */
  projectionOverlapMs: 2_000,
  /** Step objects that one projection of a run writes. */
  projectionObjectsMax: 100,
  /** Time after which a request to object storage counts as unanswered. */
  objectRequestMsMax: 20_000,
  /** Bytes of an object key with its prefix; the limit of S3. */
  objectKeyBytesMax: 1_024,
  /** Tries of a conditional write that met another one in progress. */
  objectConflictRetries: 8,
  /** The first pause between such tries; it grows with each. */
  objectConflictPauseMs: 20,
  /** Objects deleted at once. */
  objectDeletesAtOnce: 16,
  /** Objects in one page of a list. */
  objectListPage: 1_000,

  /** Bodies that codecs encode or decode at once. */
  codecsAtOnce: 16,
  /** Default size from which `compress` compresses a body. */
  compressAboveBytes: 1_024,
  /** Default size from which `offload` stores a body elsewhere. */
  offloadAboveBytes: 65_536,
  /** Offloaded bodies kept in memory. */
  offloadCacheBytes: 16 * 1_048_576,
  /** Size of a decompressed body; pawl never writes a larger one. */
  decompressedBytesMax: 64 * 1_048_576,
  /** The first pause before a body that could not be read is read again. */
  unreadableRetryMsMin: 100,
  /** The longest pause before a body that could not be read is read again. */
  unreadableRetryMsMax: 30_000,

  /** Characters of the URL of a handler request. */
  httpUrlLengthMax: 8_192,
  /** Bytes of the body of a handler request. */
  httpRequestBytesMax: 1_048_576,
  /** Bytes of the headers of a handler request, and of its response. */
  httpHeaderBytesMax: 16_384,
  /** Bytes of the body of a response that a handler reads. */
  httpResponseBytesMax: 1_000_000,
  /** Bytes kept of the body of a response with an error status. */
  httpErrorBytesMax: 2_048,
  /** Redirects that a handler request follows. */
  httpRedirectsMax: 5,
  /** Default total duration of an HTTP or webhook request. */
  httpTimeoutMs: 30_000,
  /** Default total duration of a request to a language model. */
  llmTimeoutMs: 120_000,
  /** Default total duration of sending one mail. */
  mailTimeoutMs: 60_000,
  /** The longest timeout a handler can be configured with. */
  handlerTimeoutMsMax: 600_000,
  /** The longest wait that a `Retry-After` header of a server can ask for. */
  retryAfterMsMax: 3_600_000,
  /** Characters of an idempotency key in a header; some services refuse longer ones. */
  idempotencyHeaderLengthMax: 255,
  /** Default age, past or future, up to which a webhook is verified. */
  webhookToleranceSeconds: 300,
  /** Bytes of the text and the HTML of one mail together. */
  mailBodyBytesMax: 1_048_576,
  /** Characters of the subject of a mail. */
  mailSubjectLengthMax: 500,
  /** Characters of a mail address. */
  mailAddressLengthMax: 254,
  /** Recipients of one mail. */
  mailRecipientsMax: 100,
  /** Attachments of one mail. */
  mailAttachmentsMax: 20,
  /** Bytes of all attachments of one mail. */
  mailAttachmentBytesMax: 1_048_576,

  /** Bytes of a graph document, as text and as stored. */
  graphBytesMax: 1_000_000,
  /** Levels of nesting in a graph document. */
  graphDepthMax: 100,
  /** Nodes of a graph document. */
  graphNodesMax: 10_000,
  /** Edges of a graph document. */
  graphEdgesMax: 100_000,
  /** Characters of one text in a graph document. */
  graphTextLengthMax: 262_144,
  /** Characters of one expression. */
  graphExpressionLengthMax: 2_000,
  /** Levels of nesting in one expression. */
  graphExpressionDepthMax: 32,
  /** Expressions in one graph document. */
  graphExpressionsMax: 50_000,
  /** Lines of a YAML document, counted before it is parsed. */
  graphLinesMax: 100_000,
  /** Brackets, braces and commas of a YAML document, counted before it is parsed. */
  graphSignsMax: 200_000,
  /** Tokens of a YAML document, including line breaks and spaces. */
  graphTokensMax: 500_000,
  /** Aliases of a YAML document (references to anchors). */
  graphAliasesMax: 1_000,
  /** Problems of a graph document in the details of the error. */
  graphProblemsMax: 100,
  /** Problems of a graph document in the message of the error. */
  graphProblemsTold: 20,
  /** Characters that the templates of one input produce. */
  graphTextMadeMax: 1_048_576,

  /** Default runs in one page of a list. */
  listPageDefault: 50,
  /** Rows that SQLite examines at a time for a list. */
  listSliceRuns: 1_000,
  /** Slices of the newest runs that SQLite looks through before it walks through a source that has no order. */
  listNewestSlices: 8,
  /** Rows of a range of an index that SQLite reads at once: for a list, or to count them. */
  listRangeRuns: 200_000,
  /** Rows that SQLite counts at a time. */
  countSliceRuns: 10_000,
  /** Runs that SQLite reads in full at a time for a list. */
  listShownRuns: 50,
  /** Lanes (name, queue, priority) that a list reads one by one; with more, it reads all runs. */
  listLanesMax: 64,
  /** Spans of time that one histogram has. */
  histogramBinsMax: 120,
  /** Slots of a schedule that one call lists. */
  slotsListedMax: 1_000,
  /** Saved views of runs, and the characters of the query of one. */
  viewsMax: 100,
  viewQueryLengthMax: 2_000,
  /** Characters of the JSON Schema of an input that workers publish: a larger one is not for a form. */
  inputSchemaLengthMax: 65_536,
  /** Runs that one call explains. */
  whyRunsMax: 200,
  /** Characters of a user's value that a tool shows to a language model. */
  toolValueLengthMax: 8_000,
  /** Characters of an answer of a tool. */
  toolAnswerLengthMax: 200_000,
  /** Events that a page of a history shows, unless the caller says otherwise. */
  historyEventsShown: 500,
  /** Turns in one page of a history. */
  historyPageTurns: 500,
  /** Size from which a page of a history ends with the current turn. */
  historyPageBytes: 8 * 1_048_576,
  /** Generations of a run whose history is kept, including the current one. */
  generationsKept: 16,
  /** Message ids that a generation remembers of the one before, to ignore repeated messages. */
  messageIdsKept: 1_000,

  /** Time between two reads of definitions and roll-outs by a worker. */
  catalogueRefreshMs: 30_000,
  /** Time between two such reads while other processes write definitions. */
  catalogueHeardMs: 1_000,
  /** Time between two reads of the names of all stored definitions. */
  catalogueListMs: 60_000,
  /** Definitions from the store that a worker keeps in memory. */
  definitionsKept: 1_000,
  /** Where a server listens by default. */
  serverPort: 7_295,
  /** Runs of one batch with a kept preview: their ids fit into one value. */
  batchRunsMax: 25_000,
  /** Runs that such a batch works on in one step. */
  batchChunk: 100,
  /** Time for which a preview can be started. */
  batchPreviewMs: 3_600_000,
  /** Failures that a batch keeps. */
  batchFailuresKept: 1_000,
  /** Runs that a preview shows. */
  batchSample: 20,
  /** Reports of checks that are listed, groups that each of them keeps, runs that each of them names, and characters of its text. */
  checkReportsShown: 100,
  checkGroupsKept: 100,
  checkRunsShown: 20,
  checkTextLengthMax: 4_096,
  /** How often the command line looks how far long work is. */
  progressMs: 250,
  /** Multiple of that up to which a longer body is read, and discarded, so that its sender reads the refusal. */
  requestDiscardFactor: 4,
  /** Characters of JSON from which an answer with runs or events ends its page: `cursor` or `next` has the rest. */
  answerPageLength: 8 * 1_048_576,
  /** Bytes of all headers of a request. */
  requestHeaderBytesMax: 16_384,
  /** Characters of the URL of a request. */
  requestUrlLengthMax: 8_192,
  /** Time in which the headers of a request must arrive. */
  requestHeadersMs: 10_000,
  /** Time in which a whole request must arrive. */
  requestMs: 30_000,
  /** Longest wait of a request for a run. */
  requestWaitMsMax: 60_000,
  /** Requests in progress at once; more get TOO_MANY_REQUESTS. */
  requestsAtOnce: 512,
  /** Requests that a connection may send before it has read the answers to those before. */
  requestsPipelined: 16,
  /** Connections to the server at once. */
  connectionsMax: 10_000,
  /** Requests per second of one token, in the long run. */
  requestsPerSecond: 1_000,
  /** Requests of one token in one burst. */
  requestBurst: 2_000,
  /** Calls of webhooks per minute from one address. */
  webhooksPerMinute: 600,
  /** Wrong tokens per minute from one address. */
  wrongTokensPerMinute: 10,
  /** Time for which a server trusts a token it has looked up; a revocation takes effect after it at the latest. */
  tokenCacheMs: 10_000,
  /** Characters that an entry of the audit trail keeps of a name or reason. */
  auditLengthMax: 512,
  /** Time in which a server that stops accepts connections that wait, and in which those may send a request. */
  lastConnectionsMs: 2_000,
  /** Pages of the audit trail that one call with a filter reads; the answer says where to continue. */
  auditPagesRead: 200,
  /** Entries in one page of the audit trail. */
  auditPageEntries: 16,
  /** Pages of the audit trail that are kept. */
  auditPagesKept: 40_000,
  /** Time after which the outcome of a change is written, if no other entry takes it along. */
  auditDelayMs: 250,
  /** Addresses and tokens whose requests are counted. */
  countersKept: 10_000,
  /** Time that requests in progress get when the server stops. */
  serverGraceMs: 25_000,
  /** Time from a signal to stop until a server takes no more connections. */
  lameDuckMs: 5_000,
  /** Time in which a store must answer, so that its server is ready; and for which its answer is kept. */
  readyStoreMs: 2_000,
  readyKeptMs: 1_000,
  /** Streams of live events at once, of a process and of one token. */
  liveStreamsMax: 5_000,
  liveStreamsPerToken: 100,
  /** Time between two comments in a stream of live events that has nothing to say. */
  liveHeartbeatMs: 15_000,
  /** The shortest and the longest time between two looks for live events. */
  livePollMsMin: 100,
  livePollMsMax: 2_000,
  /** Shortest time from an announcement of this process, and between two of them, to a look for live events. */
  liveHeardMs: 5,
  liveHeardAgainMs: 50,
  /** Share of time that the server spends on one kind of look at most: after 10 ms it pauses for 200. */
  liveLookShare: 0.05,
  /** Turns that a stream of live events reads at a time, first and at most; and how much text it aims at. */
  livePageTurnsFirst: 4,
  livePageTurnsMax: 64,
  livePageLength: 262_144,
  /** Characters that a stream of live events hands to its socket at a time. */
  liveChunkLength: 65_536,
  /** Time that a server waits for events that a client says it has: it may read a store later than another server. */
  liveAheadMs: 5_000,
  /** Shortest time between two `state` events of a stream. */
  liveStateMs: 250,
  /** A `state` event says why the run makes no progress if its generation has at most this many events. */
  liveWhyEventsMax: 10_000,
  /** Runs in the window of a stream. */
  liveRunsMax: 200,
  /** Time that a client waits before it connects again, as the server tells it. */
  liveRetryMs: 1_000,
  /** A client that takes nothing of a stream for this long is cut off. */
  streamStallMs: 60_000,
  /** Longest life of a stream of live events: its client connects again, and its token is checked again. */
  liveStreamMs: 3_600_000,
  /** Values of one label of the metrics of a process; all others count as `other`. */
  metricLabelValues: 200,
  /** How often metrics ask the store for its queues and workers, at most; and how long a scrape waits for the answer. */
  metricSampleMs: 10_000,
  metricSampleWaitMs: 2_000,
  /** A replay that took longer has a span. */
  replaySpanMs: 5,
  /** Characters of one log line in JSON. */
  logLineLengthMax: 65_536,
  /** Times that a move is tried again after another transaction was faster. */
  transferTries: 10,
  /** Runs in one page of a move, and trees of runs that move at the same time. */
  movePageRuns: 100,
  moveTreesAtOnce: 32,
  /** How long a move waits for a worker to release a run, by default; and how often it looks. */
  movePatienceMs: 60_000,
  movePollMsMin: 20,
  movePollMsMax: 500,
  /** Items of one `each` step of a graph. */
  graphItemsMax: 10_000,
  /** Size of the inputs of all items in progress of one `each` step; a single larger one still runs. */
  graphItemsBytes: 1_048_576,
} as const

assert(limits.leaseRenewalsPerLife >= 3, 'a lease survives two lost renewals')
assert(limits.leaseSelfStopShare < 1, 'a holder stops before another worker can claim its runs')
assert(
  limits.sqliteTransactionMsMax < limits.leaseMs / limits.leaseRenewalsPerLife,
  'a transaction that blocks all other writers ends before a lease can expire',
)
assert(
  limits.sqliteTransactionMsMax < limits.sqliteBusyMsMax,
  'a wait for the transaction of another process outlasts that transaction',
)
assert(
  (limits.scheduleOthersMax + 2) * limits.payloadBytesMax + limits.turnSlotBytes < limits.turnBytesMax,
  'a schedule can receive the results of all runs in progress in one turn',
)
assert(
  limits.httpResponseBytesMax + limits.httpHeaderBytesMax < limits.payloadBytesMax,
  'a response that was read can be recorded',
)
assert(limits.snapshotBytes <= limits.snapshotPartBytes, 'a snapshot of several parts is never written as one object')
assert(limits.payloadBytesMax <= limits.turnBytesMax, 'a turn can hold at least one payload')
assert(limits.graphBytesMax < limits.payloadBytesMax, 'a graph document can be stored')
assert(limits.graphDepthMax < limits.payloadDepthMax, 'a graph document can be stored inside another value')
