/**
 * `pawl/store`: the interface of stores, for authors of a store.
 *
 * Unstable: before 1.0 any version, including a patch, may change it.
 *
 * @packageDocumentation
 */

export { digestOfRun } from './run-digest.ts'
export * from './store.ts'
export { NEVER } from './values.ts'
