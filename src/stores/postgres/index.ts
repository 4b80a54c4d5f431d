export { type PostgresOptions, PostgresStore } from './store.ts'
