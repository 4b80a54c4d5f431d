// The limits of live events: a part of `limits`, which is how they are used.

export const liveLimits = {
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
} as const
