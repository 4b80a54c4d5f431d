// Loaded only when a program opens a store on object storage.
export { openObjects } from './open.ts'
