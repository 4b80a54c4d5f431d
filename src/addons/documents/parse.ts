// Parses a graph document (JSON, JSON text or YAML text) into a plan, or reports every problem with it. Pure: the same
// document gives the same plan, the same problems and the same stored form.
import { assert } from '../../core/base/assert.ts'
import { digest } from '../../core/base/digest.ts'
import { limits } from '../../core/base/limits.ts'
import { checkKnownName, checkName } from '../../core/base/names.ts'
import type { Json } from '../../core/base/value.ts'
import { type GraphDocument, type GraphPlan, type ParseGraph, shapeHash, shapeOf } from '../../core/index.ts'
import { type DocumentContext, type NodeDraft, readNode } from './node.ts'
import { type FieldNames, type JsonObject, ObjectReader, objectAt } from './object-reader.ts'
import { orderOf } from './order.ts'
import { type InputOf, readParameters } from './parameters.ts'
import { PlanFunctions, resultsOf, type ScopeFunction } from './plan-functions.ts'
import { type Path, Problems } from './problems.ts'
import { addSizeProblem, readDocument } from './read-document.ts'
import { checkReferences } from './references.ts'
import { type Reference, Templates } from './template.ts'
import { UnknownNodes } from './unknown-nodes.ts'

export interface ParsedGraph extends GraphDocument {
  /** Checks the input of a run and fills in defaults. The plan does this itself; callers may need it earlier. */
  readonly inputOf: InputOf
}

/** Implements `ParseGraph`. Activities are checked only if `known` lists them. */
export function parseGraph(document: unknown, known: Parameters<ParseGraph>[1] = {}): ParsedGraph {
  const problems = new Problems()
  const read = readDocument(document, problems)
  if (read === null) problems.add([], 'WRONG_TYPE', 'the document is empty; expected `name` and `nodes`')
  const source = read === null ? undefined : objectAt(read, [], problems)
  if (source === undefined) return problems.refuse()
  const fields = new ObjectReader(source, [], problems, documentFieldNames)
  const name = readName(fields)
  fields.typed('description', 'string')
  const inputOf = readParameters(fields)
  const functions = new PlanFunctions(inputOf)
  const templates = new Templates(problems)
  const context = { problems, templates, handlers: known.activities, inputOf, functions }
  const { nodes, nameless } = readNodes(fields, context)
  if (!known.stored) refuseOldNames(name, nodes, problems)
  const output = readOutput(fields, context)
  fields.take('$schema')
  delete fields.stored['$schema']
  fields.finish()
  const unknown = new UnknownNodes()
  const order = orderOf(nodes, unknown, problems)
  const sees = order && checkReferences(nodes, output?.references ?? [], { ...order, unknown }, problems)
  if (order) unknown.report(order, nameless, problems)
  const text = canonical(fields.stored)
  if (Buffer.byteLength(text) > limits.graphBytesMax) addSizeProblem(problems)
  problems.throwIfAny(name)
  assert(name !== undefined && sees !== undefined, 'a document without problems is complete')
  const plan = planOf(name, nodes, sees, output?.value)
  return { plan, document: fields.stored, documentHash: digest(text), inputOf }
}

function readName(fields: ObjectReader): string | undefined {
  if (!fields.has('name')) fields.missing('name', 'name the graph')
  return fields.checked('name', (value) => checkKnownName(value, 'the name of a graph'))
}

const documentFieldNames: FieldNames = {
  all: ['name', 'description', 'parameters', 'nodes', 'output', '$schema'],
  synonyms: {
    ...{ steps: 'nodes', tasks: 'nodes', dag: 'nodes' },
    ...{ input: 'parameters', inputs: 'parameters', params: 'parameters' },
  },
  needed: ['name', 'nodes'],
}

const NAMES = ['id', 'handler', 'workflow', 'wait', 'queue']

function refuseOldNames(name: string | undefined, nodes: readonly NodeDraft[], problems: Problems): void {
  const check = (value: Json | undefined, path: Path): void => {
    if (typeof value !== 'string' || value === '' || problems.has(path)) return
    problems.attempt(path, 'INVALID_VALUE', () => checkName(value, String(path.at(-1))))
  }
  check(name, ['name'])
  for (const { document, path } of nodes) {
    for (const field of NAMES) check(document[field], [...path, field])
  }
}

/** `nameless` counts the nodes whose ids could not be read. */
function readNodes(
  fields: ObjectReader,
  context: DocumentContext,
): { readonly nodes: NodeDraft[]; readonly nameless: number } {
  const { problems } = context
  const list = fields.typed('nodes', 'list')
  if (list === undefined) {
    if (!fields.has('nodes')) fields.missing('nodes', 'list the nodes of the graph')
    return { nodes: [], nameless: Number.POSITIVE_INFINITY }
  }
  if (list.length === 0) problems.add(['nodes'], 'INVALID_VALUE', 'a graph needs at least one node: add one')
  if (list.length > limits.graphNodesMax) {
    const message = `the graph has ${list.length} nodes; the limit is ${limits.graphNodesMax}`
    problems.add(['nodes'], 'LIMIT', message)
    return problems.refuse()
  }
  const nodes = list.map((node, index) => readNode(node, ['nodes', index], context))
  const read = nodes.filter((node) => node !== undefined)
  fields.stored['nodes'] = read.map(({ document }) => document)
  const nameless = list.length === 0 ? Number.POSITIVE_INFINITY : list.length - read.length
  return { nodes: read, nameless }
}

interface Output {
  readonly value: ScopeFunction
  readonly references: readonly Reference[]
}

function readOutput(fields: ObjectReader, { templates, functions }: DocumentContext): Output | undefined {
  const field = fields.take('output')
  if (field === undefined) return undefined
  const { template, references } = templates.compile(field.value, field.path, ['input', 'nodes'])
  return { value: functions.input(template, [], false), references }
}

function planOf(
  name: string,
  drafts: readonly NodeDraft[],
  sees: readonly (readonly string[])[],
  output: ScopeFunction | undefined,
): GraphPlan {
  const made = drafts.map((draft, index) => {
    const node = draft.make(sees[index] ?? [])
    assert(node !== undefined, 'a node without problems can be created')
    return node
  })
  const shapes = made.map(shapeOf)
  const nodes = new Map(made.map((node) => [node.name, node]))
  const outputs = drafts.filter(({ kind }) => kind === 'output').map(({ id }) => id)
  const value = output ?? outputOf(outputs, [...nodes.keys()])
  return { name, hash: shapeHash(shapes), shapes, nodes, output: value }
}

/** The output of a graph without `output`: the result of its only `output` node, else results by id. */
function outputOf(outputs: readonly string[], all: readonly string[]): ScopeFunction {
  const [only] = outputs
  if (outputs.length === 0) return ({ results }) => resultsOf(results, all)
  if (outputs.length > 1 || only === undefined) return ({ results }) => resultsOf(results, outputs)
  return ({ results }) => (Object.hasOwn(results, only) ? results[only] : null)
}

/** JSON with sorted keys: the same text for the same fields in any order. */
function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join(',')}]`
  const record = value as JsonObject
  const fields = Object.keys(record)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(record[key] ?? null)}`)
  return `{${fields.join(',')}}`
}
