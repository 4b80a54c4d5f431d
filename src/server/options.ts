// The options of servers.
import {
  type Described,
  duration,
  flag,
  fn,
  given,
  hidden,
  type Option,
  option,
  strings,
  text,
  whole,
} from '../core/base/described.ts'
import type { Logger } from '../core/runtime/logger.ts'
import type { MetricsSnapshot } from '../metrics/meter.ts'
import type { QueryCode } from '../operations/handlers/context.ts'

/** A token that is not in the store. It must fit into a header, and not be guessed. */
export function ownToken(about: string): Option<string> {
  const accepts = (value: unknown): boolean => typeof value === 'string' && /^[\x21-\x7e]{16,256}$/.test(value)
  const otherwise = { otherwise: 'only tokens in the store count', schema: { type: 'string' } }
  return hidden(option(about, '16 to 256 letters, digits and signs without spaces', accepts, otherwise))
}

export const serverOptions = {
  /** A token with the scope admin. Default: only tokens in the store count. */
  token: ownToken('A token with the scope admin.'),
  /** Serves requests without a token, because the program that mounts the server checks them. Default false. */
  open: flag('Serves requests without a token, because the program that mounts the server checks them.', {
    otherwise: 'false; a server that listens on loopback is open until it has a token',
  }),
  /** Names of this server that requests may use as their host, with any port or one: `['pawl.example']`. */
  hosts: strings('Names of this server that requests may use as their host, with any port or one.', 'a list of hosts', {
    otherwise: 'names of this machine; any, unless `open` or on loopback',
  }),
  /** Origins of other pages that may use the API from a browser: `['https://app.example']`. */
  origins: strings('Origins of other pages that may use the API from a browser.', 'a list of origins', {
    otherwise: 'none',
  }),
  /** Answers queries, where the code of the runs is in another process. Default: the engine does. */
  query: fn<QueryCode>('Answers queries, where the code of the runs is in another process.', {
    otherwise: 'the engine, with its own code',
  }),
  /** Serves the web UI at `/`, too. Default false; `pawl dev` and `pawl serve` do. */
  ui: flag('Serves the web UI at `/`, too.', { otherwise: 'false; `pawl dev` and `pawl serve` do' }),
  /** Serves `/metrics` to tokens that may read. Default true. */
  metrics: flag('Serves `/metrics` to tokens that may read.', { otherwise: 'true' }),
  /** Addresses that may read `/metrics` without a token: `['10.0.0.7']`. */
  metricsFrom: strings('Addresses that may read `/metrics` without a token.', 'a list of addresses', {
    otherwise: 'none',
  }),
  /** The metrics of other processes, where the code of the runs is. Default: none. */
  otherMetrics: fn<() => Promise<readonly MetricsSnapshot[]>>(
    'The metrics of other processes, where the code of the runs is.',
    { otherwise: 'none' },
  ),
  /** Where the server logs what failed. Default: the console. */
  logger: given<Logger>('Where the server logs what failed.', 'a logger', { otherwise: 'the console' }),
} as const
/** The options of a server. */
export interface ServerOptions extends Described<typeof serverOptions> {}

export const listenOptions = {
  /** The port; 0 for any that is free. Default 7295. */
  port: whole('The port; 0 for any that is free.', [0, 65_535], { otherwise: '7295' }),
  /** The address to listen on. Any but loopback requires a token. Default '127.0.0.1'. */
  host: text('The address to listen on. Any but loopback requires a token.', { otherwise: "'127.0.0.1'" }),
} as const
/** Where a server listens. */
export interface ListenOptions extends Described<typeof listenOptions> {}

export const closeOptions = {
  /** How long the server goes on taking connections, while `/readyz` says that it stops. Default 0. */
  lameDuck: duration('How long the server goes on taking connections, while `/readyz` says that it stops.', {
    otherwise: '0',
  }),
  /** How long requests in progress may take after that. Default 25s. */
  grace: duration('How long requests in progress may take after that.', { otherwise: '25s' }),
} as const
/** How a server stops. */
export interface CloseOptions extends Described<typeof closeOptions> {}
