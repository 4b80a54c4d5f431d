// The deciders of the workflows a worker has code for, made when they are first needed.
import { deciderOf } from '../deciders/of.ts'
import type { Registry } from '../definitions/registry.ts'
import type { Decider } from '../kernel/decider.ts'

export function decidersOf(registry: Registry): (name: string) => Decider | undefined {
  const known = new Map<string, Decider>()
  return (name) => {
    const there = known.get(name)
    const workflow = there ? undefined : registry.workflow(name)
    if (!workflow) return there
    const decider = deciderOf(workflow, registry)
    // Names that only the one for all others answers for may be without number.
    if (registry.workflows.has(name)) known.set(name, decider)
    return decider
  }
}
