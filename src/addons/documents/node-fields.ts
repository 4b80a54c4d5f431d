// The fields a node may have, by its kind, and advice about others.
import { quote } from '../../core/base/visible.ts'
import type { FieldNames } from './object-reader.ts'

export type NodeKind = 'activity' | 'input' | 'output' | 'child' | 'wait'

/** Only these nodes may have `each` and `compensate`. */
export function isActivityOrChild(kind: NodeKind): boolean {
  return kind === 'activity' || kind === 'child'
}

const kinds: Readonly<Record<NodeKind, string>> = {
  activity: 'a node that runs an activity',
  input: 'an `input` node',
  output: 'an `output` node',
  child: 'a node that starts a workflow',
  wait: 'a node that waits',
}

/** Fields that only some kinds of nodes may have. */
const kindsOf: Readonly<Record<string, readonly NodeKind[]>> = {
  with: ['activity', 'output', 'child'],
  config: ['activity', 'output', 'child'],
  each: ['activity', 'child'],
  parallel: ['activity', 'child'],
  compensate: ['activity', 'child'],
  queue: ['activity', 'child'],
  priority: ['activity', 'child'],
  timeout: ['activity', 'child', 'wait'],
  retry: ['activity'],
  startToClose: ['activity'],
  scheduleToStart: ['activity'],
  scheduleToClose: ['activity'],
  heartbeat: ['activity'],
  runTimeout: ['child'],
  executionTimeout: ['child'],
  parentClose: ['child'],
}

/** Field names of other systems. */
const synonyms: Readonly<Record<string, string>> = {
  name: 'id',
  type: 'handler',
  activity: 'handler',
  task: 'handler',
  signal: 'wait',
  needs: 'after',
  depends_on: 'after',
  dependsOn: 'after',
  parents: 'after',
  input: 'with',
  inputs: 'with',
  params: 'with',
  args: 'with',
  if: 'when',
  condition: 'when',
  retries: 'retry',
  retry_config: 'retry',
  triggerRule: 'rule',
  trigger_rule: 'rule',
  forEach: 'each',
  foreach: 'each',
  output: 'with',
}

export const nodeFieldNames: FieldNames = {
  all: [
    ...['id', 'description', 'handler', 'workflow', 'wait', 'after', 'dependencies'],
    ...['rule', 'when', 'delay', ...Object.keys(kindsOf)],
  ],
  synonyms,
  needed: ['id', 'handler', 'workflow', 'wait', 'after', 'dependencies', 'each'],
}

export function adviceFor(field: string, kind: NodeKind | undefined): string | undefined {
  if (field === '<<') return 'YAML merge keys are not supported: write the fields out'
  if (!Object.hasOwn(kindsOf, field)) return undefined
  // The kind of the node is unknown, which has been reported already.
  if (kind === undefined) return ''
  const where = kindsOf[field]?.map((each) => kinds[each]).join(' or ')
  return `${quote(field)} is not allowed in ${kinds[kind]}, only in ${where}`
}
