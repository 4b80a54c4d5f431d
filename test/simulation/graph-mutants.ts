// Bugs planted in the decider of graphs. Random graphs must catch every one of them.
import { from, type Mutant, patch } from './planting.ts'

const nodes = 'core/deciders/graph/nodes.ts'
const progress = 'core/deciders/graph/progress.ts'
const execution = 'core/deciders/graph/execution.ts'
const undoing = 'core/deciders/graph/undoing.ts'

const inGraphs = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  store: 'memory',
  program: 'graph',
  patches: [patch(file, find, replace)],
})

export const graphMutants: readonly Mutant[] = [
  inGraphs(
    'D6: a step that ends is counted twice by those after it',
    nodes,
    'count(dependent, as, 1)\n',
    'count(dependent, as, 1)\n        if (dependent.node.after.length > 2) count(dependent, as, 1)\n',
  ),
  inGraphs(
    'D6: a fan-in takes a step that was skipped for one that succeeded',
    nodes,
    "if (status !== 'skipped') ended[status] += by",
    "ended[status === 'skipped' ? 'succeeded' : status] += by",
  ),
  inGraphs(
    'D4: that a step is skipped does not reach those after it',
    nodes,
    "if (this.#consider(dependent) === 'skip') settled.push([dependent, 'skipped'])",
    'this.#consider(dependent)',
  ),
  inGraphs(
    'D4: what may begin stays so when a step before it is undone',
    nodes,
    'else this.#ready.delete(state)\n',
    '',
  ),
  inGraphs(
    'D9: a step begins although the run fails and it has nothing to do with that',
    nodes,
    "if (state.status === 'waiting' && !after.has(state)) this.settle(state, 'skipped')",
    "if (state.status === 'waiting' && cancelled) this.settle(state, 'skipped')",
  ),
  inGraphs(
    'D9: what is in progress when the run fails is not cancelled',
    progress,
    'for (const key of this.nodes.stop(false)) this.toCancel.add(key)',
    'this.nodes.stop(false)',
  ),
  inGraphs(
    'D10: a delay is over when the run is read anew',
    progress,
    "this.nodes.begin(state, 'delayed')\n",
    'state.cleared = true\n',
  ),
  inGraphs(
    'a condition is asked again when the run is read anew',
    progress,
    "case 'StepSkipped':\n        return this.nodes.settle(state, 'skipped')",
    "case 'StepSkipped':\n        return",
  ),
  inGraphs(
    'a list is begun again when the run is read anew',
    progress,
    'if (index !== undefined) state.items?.pending.delete(index)',
    'if (index === 0) state.items?.pending.delete(index)',
  ),
  inGraphs(
    'more items of a list are in progress than may be',
    execution,
    'state.open.size >= parallel',
    'state.open.size > parallel',
  ),
  inGraphs(
    'R7: steps are undone in the order they were written',
    undoing,
    'const done = [...nodes.completed].filter(({ node }) => node.undo)',
    'const done = [...nodes.all()].filter((each) => nodes.completed.has(each) && each.node.undo)',
  ),
  inGraphs(
    'R7: what broke off is undone last',
    undoing,
    'return [...broken.reverse(), ...done.reverse()]',
    'return [...done.reverse(), ...broken.reverse()]',
  ),
  from(
    560,
    inGraphs(
      'R7: what was done in the turn of a failure is not undone',
      progress,
      "if (state.status === 'stopped') this.nodes.completed.add(state)",
      "if (state.status === 'stopped') this.nodes.completed.delete(state)",
    ),
  ),
  inGraphs(
    'R7: what could not be undone is not told',
    undoing,
    'return this.#chain.flatMap((state) => this.#ended.get(undoKey(state)) ?? [])',
    'return this.#chain.slice(0, 1).flatMap((state) => this.#ended.get(undoKey(state)) ?? [])',
  ),
  inGraphs(
    'V9: what was undone after it failed begins under its old key',
    nodes,
    'state.round++\n',
    'if (isEnd(state.status)) state.round++\n',
  ),
]
