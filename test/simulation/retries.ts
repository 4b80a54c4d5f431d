import type { SimulatedWorld } from '../../src/testing/simulator.ts'

/**
 * In peace without jitter: runs that move at the same instant draw from one source, in an order that says nothing, and
 * histories are compared.
 */
export function retryIn({ calm }: Pick<SimulatedWorld, 'calm'>) {
  return { maxAttempts: 12, initial: 20, max: 200, jitter: calm ? 0 : 0.1 } as const
}
