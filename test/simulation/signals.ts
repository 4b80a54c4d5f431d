// What clients of the simulation tell their runs.
import { signal } from '../../src/index.ts'

export const go = signal<number>('go')
