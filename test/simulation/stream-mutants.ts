// Planted bugs in streams: what the rules of `append` are for.
import { type Mutant, type Patch, patch } from './planting.ts'

const rules = 'core/stores/rules/streams.ts'

const inStreams = (name: string, ...patches: Patch[]): Mutant => ({
  name,
  store: 'memory',
  program: 'streams',
  patches,
})

export const streamMutants: readonly Mutant[] = [
  inStreams(
    'streams 5: a late packet of an earlier attempt is written',
    patch(rules, 'if (newest && !part && isBefore(batch, newest))', 'if (newest && !part && isBefore(newest, newest))'),
  ),
  inStreams(
    'streams 3: a batch that is sent again after a lost answer is written again',
    patch(rules, 'if (part && n < part.batches) {', 'if (part && n < part.batches - 99) {'),
    patch(rules, "if (n !== (part?.batches ?? 0) || !isKept) return { outcome: 'gap' }", ''),
  ),
  inStreams(
    'streams 7: a step is complete before its last items are durable',
    patch('core/worker/attempt.ts', 'await streams.finish()\n', 'void streams.finish().catch(() => {})\n'),
  ),
  inStreams(
    'streams 11: a replay writes again what the code wrote',
    patch(
      'core/deciders/function/execution.ts',
      'if (!pending.recorded) this.#turn.add(pending)',
      "if (!pending.recorded || pending.request.type === 'WriteStream') this.#turn.add(pending)",
    ),
    patch(
      'core/deciders/function/context.ts',
      'const bytes = this.#execution.recordedBytes(key)',
      'const bytes = this.#execution.recordedBytes(`no ${key}`)',
    ),
  ),
]
