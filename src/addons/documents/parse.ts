// A graph given as data: from JSON, JSON text or YAML text to a plan that can be run, or to everything that is wrong with it.
// Pure: the same document gives the same plan, the same problems, and the same thing to store.
import { assert } from '../../core/base/assert.ts'
import { digest } from '../../core/base/digest.ts'
import { limits } from '../../core/base/limits.ts'
import { checkKnownName, checkName } from '../../core/base/names.ts'
import type { Json } from '../../core/base/value.ts'
import {
  type GraphDocument,
  type GraphPlan,
  type ParseGraph,
  shapeHash,
  shapeOf,
} from '../../core/index.ts'
import { Fields, type JsonObject, type Names, objectAt } from './fields.ts'
import { type NodeDraft, readNode, type Surroundings } from './node.ts'
import { orderOf } from './order.ts'
import { type InputOf, readParameters } from './parameters.ts'
import { type Path, Problems } from './problems.ts'
import { readDocument, tellSize } from './read.ts'
import { checkReferences } from './references.ts'
import { type Giving, resultsOf, Scopes } from './scope.ts'
import { type Reference, Templates } from './template.ts'
import { UnknownNodes } from './unknown-nodes.ts'

export interface ParsedGraph extends GraphDocument {
  /** Checks the input of a run and fills in defaults. The plan does so itself; this is for callers that need it sooner. */
  readonly inputOf: InputOf
}

/** See `ParseGraph`. Activities are checked only if it is known which there are. */
export function parseGraph(document: unknown, known: Parameters<ParseGraph>[1] = {}): ParsedGraph {
  const problems = new Problems()
  const read = readDocument(document, problems)
  if (read === null) problems.add([], 'WRONG_TYPE', 'it is empty; expected `name` and `nodes`')
  const source = read === null ? undefined : objectAt(read, [], problems)
  if (source === undefined) return problems.refuse()
  const fields = new Fields(source, [], problems, documentNames)
  const name = readName(fields)
  fields.typed('description', 'string')
  const inputOf = readParameters(fields)
  const scopes = new Scopes(inputOf)
  const templates = new Templates(problems)
  const around = { problems, templates, handlers: known.activities, inputOf, scopes }
  const { nodes, nameless } = readNodes(fields, around)
  if (!known.stored) refuseOldNames(name, nodes, problems)
  const output = readOutput(fields, around)
  fields.take('$schema')
  delete fields.kept['$schema']
  fields.finish(adviceFor)
  const unknown = new UnknownNodes()
  const order = orderOf(nodes, unknown, problems)
  const sees =
    order && checkReferences(nodes, output?.references ?? [], { ...order, unknown }, problems)
  if (order) unknown.tell(order, nameless, problems)
  const text = canonical(fields.kept)
  if (Buffer.byteLength(text) > limits.graphBytesMax) tellSize(problems)
  problems.settle(name)
  assert(name !== undefined && sees !== undefined, 'what has no problems is complete')
  const plan = planOf(name, nodes, sees, output?.give)
  return { plan, document: fields.kept, documentHash: digest(text), inputOf }
}

function readName(fields: Fields): string | undefined {
  if (!fields.has('name')) fields.missing('name', 'name the graph')
  return fields.checked('name', (value) => checkKnownName(value, 'the name of a graph'))
}

const documentNames: Names = {
  all: ['name', 'description', 'parameters', 'nodes', 'output', '$schema'],
  meant: { steps: 'nodes', tasks: 'nodes', dag: 'nodes' },
  needed: ['name', 'nodes'],
}

const NAMES = ['id', 'handler', 'workflow', 'wait', 'queue']

function refuseOldNames(
  name: string | undefined,
  nodes: readonly NodeDraft[],
  problems: Problems,
): void {
  const check = (value: Json | undefined, path: Path): void => {
    if (typeof value !== 'string' || value === '' || problems.has(path)) return
    problems.attempt(path, 'INVALID_VALUE', () => checkName(value, String(path.at(-1))))
  }
  check(name, ['name'])
  for (const { document, path } of nodes) {
    for (const field of NAMES) check(document[field], [...path, field])
  }
}

/** `nameless` is how many nodes there are whose ids nobody can know. */
function readNodes(
  fields: Fields,
  around: Surroundings,
): { readonly nodes: NodeDraft[]; readonly nameless: number } {
  const { problems } = around
  const list = fields.typed('nodes', 'list')
  if (list === undefined) {
    if (!fields.has('nodes')) fields.missing('nodes', 'list the nodes of the graph')
    return { nodes: [], nameless: Number.POSITIVE_INFINITY }
  }
  if (list.length === 0) problems.add(['nodes'], 'INVALID_VALUE', 'a graph has at least one node')
  if (list.length > limits.graphNodesMax) {
    const message = `the graph has ${list.length} nodes; the limit is ${limits.graphNodesMax}`
    problems.add(['nodes'], 'LIMIT', message)
    return problems.refuse()
  }
  const nodes = list.map((node, index) => readNode(node, ['nodes', index], around))
  const read = nodes.filter((node) => node !== undefined)
  fields.kept['nodes'] = read.map(({ document }) => document)
  const nameless = list.length === 0 ? Number.POSITIVE_INFINITY : list.length - read.length
  return { nodes: read, nameless }
}

interface Output {
  readonly give: Giving
  readonly references: readonly Reference[]
}

function readOutput(fields: Fields, { templates, scopes }: Surroundings): Output | undefined {
  const field = fields.take('output')
  if (field === undefined) return undefined
  const { template, references } = templates.compile(field.value, field.path, ['input', 'nodes'])
  return { give: scopes.given(template, [], false), references }
}

function adviceFor(field: string): string | undefined {
  if (field === 'input' || field === 'inputs' || field === 'params') {
    return `the field '${field}' is not known here; did you mean \`parameters\`?`
  }
  if (field === 'steps' || field === 'tasks' || field === 'dag') {
    return `the field '${field}' is not known here; did you mean \`nodes\`?`
  }
  return undefined
}

function planOf(
  name: string,
  drafts: readonly NodeDraft[],
  sees: readonly (readonly string[])[],
  output: Giving | undefined,
): GraphPlan {
  const made = drafts.map((draft, index) => {
    const node = draft.make(sees[index] ?? [])
    assert(node !== undefined, 'a node without problems can be made')
    return node
  })
  const shapes = made.map(shapeOf)
  const nodes = new Map(made.map((node) => [node.name, node]))
  const outputs = drafts.filter(({ kind }) => kind === 'output').map(({ id }) => id)
  const give = output ?? outputOf(outputs, [...nodes.keys()])
  return { name, hash: shapeHash(shapes), shapes, nodes, output: give }
}

/** Of `output` nodes, if there are any: of one what it gave, of several by id. */
function outputOf(outputs: readonly string[], all: readonly string[]): Giving {
  const [only] = outputs
  if (outputs.length === 0) return ({ results }) => resultsOf(results, all)
  if (outputs.length > 1 || only === undefined) return ({ results }) => resultsOf(results, outputs)
  return ({ results }) => (Object.hasOwn(results, only) ? results[only] : null)
}

/** The same text for the same fields in whatever order. */
function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join(',')}]`
  const record = value as JsonObject
  const fields = Object.keys(record)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(record[key] ?? null)}`)
  return `{${fields.join(',')}}`
}
