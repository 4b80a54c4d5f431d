// Loaded only when a store on object storage is asked for.
export { openObjects } from './open.ts'
