// Which fields a node may have, by what it does; and what to say about the others.
import { quote } from '../../core/base/visible.ts'
import type { Names } from './fields.ts'

export type NodeKind = 'activity' | 'input' | 'output' | 'child' | 'wait'

/** Whether it can be done for each of a list, and undone. */
export function isOutside(kind: NodeKind): boolean {
  return kind === 'activity' || kind === 'child'
}

const kinds: Readonly<Record<NodeKind, string>> = {
  activity: 'a node that runs an activity',
  input: 'an `input` node',
  output: 'an `output` node',
  child: 'a node that starts a workflow',
  wait: 'a node that waits',
}

/** Fields that some node may have, but not this one. */
const elsewhere: Readonly<Record<string, readonly NodeKind[]>> = {
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

/** What others call it. */
const otherwise: Readonly<Record<string, string>> = {
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

export const nodeNames: Names = {
  all: [
    ...['id', 'description', 'handler', 'workflow', 'wait', 'after', 'dependencies'],
    ...['rule', 'when', 'delay', ...Object.keys(elsewhere)],
  ],
  meant: otherwise,
  needed: ['id', 'handler', 'workflow', 'wait', 'after', 'dependencies', 'each'],
}

export function adviceFor(field: string, kind: NodeKind | undefined): string | undefined {
  if (field === '<<') return 'merge keys of YAML are not taken: write the fields out'
  if (Object.hasOwn(otherwise, field)) {
    return `the field ${quote(field)} is not known here; did you mean \`${otherwise[field]}\`?`
  }
  if (!Object.hasOwn(elsewhere, field)) return undefined
  // What the node does is wrong, and has been told of.
  if (kind === undefined) return ''
  const where = elsewhere[field]?.map((each) => kinds[each]).join(' or ')
  return `${quote(field)} is not for ${kinds[kind]}, only for ${where}`
}
