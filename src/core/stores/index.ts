// What those who write a store of their own import from 'pawl/store'. Before 1.0 any version may change it.
export { NEVER } from './never.ts'
export * from './store.ts'
