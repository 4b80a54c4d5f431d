// What those who write a store of their own import from 'pawl/store'.
export { NEVER } from './never.ts'
export * from './store.ts'
