// What runs write whose streams are read while processes are killed: their code, a step that begins again after each
// crash, and a step that continues, in two generations.
import { stream, workflow } from '../../src/index.ts'

export interface Word {
  readonly by: 'code' | 'again' | 'resumed'
  readonly round: number
  /** One execution of a step. */
  readonly execution: string
  readonly n: number
}

export const words = stream<Word>('words')
export const recital = workflow.declare<number, number>('recital')

export const ROUNDS = 2
/** Items of each writer in each round. */
export const WORDS = { code: 4, again: 40, resumed: 40 } as const
