/**
 * `pawl/server`: engines over HTTP.
 *
 * Unstable: before 1.0 a minor version may change it.
 *
 * @packageDocumentation
 */

export type { AuditEntry, Credential, TokenRecord } from '../operations/outputs.ts'
export { defineConfig, type ServeConfig } from './config.ts'
export type { CloseOptions, ListenOptions, ServerOptions } from './options.ts'
export { type Listening, type Server, server } from './server.ts'
export type { Tokens } from './tokens.ts'
