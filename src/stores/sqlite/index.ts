export { SqliteStore } from './store.ts'
