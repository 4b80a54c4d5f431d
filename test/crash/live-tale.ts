// What runs that are followed live tell: nothing, in several generations.
import { workflow } from '../../src/index.ts'

export const tale = workflow.declare<number, number>('tale')
