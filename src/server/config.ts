// The settings of `pawl serve`, described once: types, checks, `--print-config` and the table in the docs follow.
import {
  choice,
  type Described,
  duration,
  nested,
  type Option,
  option,
  type Place,
  strings,
  text,
  whole,
} from '../core/base/described.ts'
import { limits } from '../core/base/limits.ts'
import { type Duration, formatDuration, milliseconds } from '../core/base/time.ts'
import { ownToken, serverOptions } from './options.ts'

/** Of `worker`. */
export const workerConfig = {
  /** ['default'] */
  queues: strings('The queues that the worker serves.', 'a list of names', { otherwise: "`['default']`" }),
  concurrency: whole('Runs it holds, and step bodies it runs, at once.', [1, limits.concurrencyMax], {
    otherwise: `${limits.workflowsPerWorker} and ${limits.activitiesPerWorker}`,
  }),
  /** How often it renews its session. Its lease is three times as long. 10s */
  heartbeatInterval: heartbeat('How often it renews its session. Its lease is three times as long.'),
  /** How long running steps get when it stops. 30s */
  gracefulShutdownTimeout: duration('How long running steps get when it stops.', {
    otherwise: formatDuration(limits.graceMs),
  }),
} as const

export const serveConfig = {
  /** The URL of the store. 'sqlite:./pawl.db' */
  store: text('The URL of the store.', { otherwise: "'sqlite:./pawl.db'" }),
  /** Where to listen: a port, or an address and a port. '127.0.0.1:7295' */
  listen: listenOption('Where to listen: a port, or an address and a port. Any but loopback requires a token.'),
  /** Names of this server that requests may use as their host, with any port or one. */
  hosts: serverOptions.hosts,
  /** Origins of other pages that may use the API from a browser. */
  origins: serverOptions.origins,
  /** A token with the scope admin. Better in a file, or created by `pawl token create`. */
  token: ownToken('A token with the scope admin, besides those in the store.'),
  /** A file that contains that token. */
  tokenFile: text('A file that contains that token.', { otherwise: 'none' }),
  /** Files that export workflows and activities. With some, the server is a worker and answers queries. */
  modules: strings(
    'Files that export workflows and activities. With some, the server is a worker and answers queries.',
    'a list of files',
    { otherwise: 'none' },
  ),
  /** A module that exports the codecs of the store. */
  codecs: text('A module that exports the codecs of the store.', { otherwise: 'none' }),
  /** How to log to standard error: 'text', or one JSON object per line. 'text' */
  log: choice('How to log to standard error: text, or one JSON object per line.', ['text', 'json'], {
    otherwise: "'text'",
  }),
  /** Serves `/metrics` to tokens that may read. true */
  metrics: serverOptions.metrics,
  /** Addresses that may read `/metrics` without a token. */
  metricsFrom: serverOptions.metricsFrom,
  worker: nested('How it works, if it has modules.', workerConfig),
  /** How long it goes on taking connections after a signal to stop, while `/readyz` answers 503. 5s */
  lameDuck: duration('How long it takes connections after a signal to stop, while `/readyz` answers 503.', {
    otherwise: formatDuration(limits.lameDuckMs),
  }),
  /** How long requests in progress may take after that. 25s */
  grace: duration('How long requests in progress may take after that.', {
    otherwise: formatDuration(limits.serverGraceMs),
  }),
} as const
/** The settings of `pawl serve`. */
export interface ServeConfig extends Described<typeof serveConfig> {}

/**
 * Types the settings of `pawl serve`, in a `pawl.config.ts`:
 *
 * ```ts
 * import { defineConfig } from 'pawl/server'
 *
 * export default defineConfig({ store: 'postgres://db/pawl', modules: ['./workflows.ts'] })
 * ```
 */
export function defineConfig(config: ServeConfig): ServeConfig {
  return config
}

/** Where a server listens; undefined if the text says no such place. */
export function placeOf(listen: string): { readonly host: string; readonly port: number } | undefined {
  const [, host = '127.0.0.1', digits = ''] = /^(?:(\[[0-9a-f:.]+\]|[^\s:/]+):|:)?(\d{1,5})$/i.exec(listen) ?? []
  const port = Number(digits)
  if (digits === '' || port > 65_535) return undefined
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port }
}

function listenOption(about: string): Option<string> {
  const accepts = (value: unknown): boolean => typeof value === 'string' && placeOf(value) !== undefined
  const otherwise = { otherwise: `'127.0.0.1:${limits.serverPort}'`, schema: { type: 'string' } }
  return option(about, "a port, or an address and a port: '7295', '0.0.0.0:7295', '[::]:7295'", accepts, otherwise)
}

function heartbeat(about: string): Option<Duration> {
  const [least, most] = [limits.leaseMsMin / 3, limits.leaseMsMax / 3]
  const accepts = (value: unknown, { name }: Place): boolean => {
    const ms = milliseconds(value as Duration, name)
    return ms >= least && ms <= most
  }
  const { takes, schema = {} } = duration(about)
  const range = `from ${formatDuration(Math.ceil(least))} to ${formatDuration(most)}`
  return option(about, `${takes}, ${range}`, accepts, { otherwise: formatDuration(limits.leaseMs / 3), schema })
}
