/**
 * `pawl/sqlite`: the SQLite store.
 *
 * Stable: an exported name changes incompatibly only in a minor version before 1.0, and only in a major version after.
 *
 * @packageDocumentation
 */

export { SqliteStore } from './store.ts'
