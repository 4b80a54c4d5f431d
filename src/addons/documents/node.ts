// Reads one node of a graph document. Every field is read even after a problem, so that all problems are reported at
// once; the step is created only if there are none.
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { checkKnownName } from '../../core/base/names.ts'
import { milliseconds } from '../../core/base/time.ts'
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { activityOptions, type GraphNode, type KnownActivities, RULES, type Undo, type Work } from '../../core/index.ts'
import { FORBIDDEN, type Root } from './expression.ts'
import { checkHandlerInput } from './handler-input.ts'
import { adviceFor, isActivityOrChild, type NodeKind, nodeFieldNames } from './node-fields.ts'
import { type Field, type FieldNames, type JsonObject, ObjectReader, objectAt } from './object-reader.ts'
import { oneOf, readActivityOptions, readChildOptions, readDuration } from './options.ts'
import type { OrderedNode } from './order.ts'
import type { InputOf } from './parameters.ts'
import type { PlanFunctions } from './plan-functions.ts'
import { kindOf, type Path, type Problems } from './problems.ts'
import { type Compiled, forbidden, type Reference, type Template, type Templates } from './template.ts'

/** What the nodes of one document share. */
export interface DocumentContext {
  readonly problems: Problems
  readonly templates: Templates
  readonly handlers: KnownActivities | undefined
  readonly inputOf: InputOf
  readonly functions: PlanFunctions
}

export interface NodeDraft extends OrderedNode {
  readonly kind: NodeKind | undefined
  readonly references: readonly Reference[]
  /** The node as it is stored. */
  readonly document: JsonObject
  /** Creates the step; `sees` are the nodes whose results it sees. */
  readonly make: (sees: readonly string[]) => GraphNode | undefined
}

export function readNode(value: Json, path: Path, context: DocumentContext): NodeDraft | undefined {
  const source = objectAt(value, path, context.problems)
  return source && new NodeReader(new ObjectReader(source, path, context.problems, nodeFieldNames), context).read()
}

const BEFORE: readonly Root[] = ['input', 'nodes']
const FOR_ITEM: readonly Root[] = ['input', 'nodes', 'item', 'index']
const FOR_UNDO: readonly Root[] = ['input', 'nodes', 'result']

const undoFieldNames: FieldNames = {
  all: ['handler', 'with', 'config', 'ownFailure', ...Object.keys(activityOptions), 'timeout'],
  synonyms: {},
  needed: ['handler'],
}

class NodeReader {
  readonly #fields: ObjectReader
  readonly #context: DocumentContext
  readonly #references: Reference[] = []

  constructor(fields: ObjectReader, context: DocumentContext) {
    this.#fields = fields
    this.#context = context
  }

  read(): NodeDraft | undefined {
    const fields = this.#fields
    const name = this.#id()
    fields.typed('description', 'string')
    const target = this.#target()
    const placed = this.#after()
    const { after } = placed
    const rule = fields.checked('rule', oneOf(RULES)) ?? 'allSucceeded'
    const when = this.#when()
    const delay = readDuration(fields, 'delay')
    const delayMs = delay === undefined ? undefined : milliseconds(delay)
    const each = target && isActivityOrChild(target.kind) ? this.#each() : undefined
    const parents = after.map(({ id }) => id)
    const work = target && this.#work(target, fields.has('each'), parents)
    const undo = target && isActivityOrChild(target.kind) ? this.#undo() : undefined
    fields.finish((field) => adviceFor(field, target?.kind))
    if (name === undefined) return undefined
    const make = (sees: readonly string[]): GraphNode | undefined =>
      work && defined({ name, after: parents, rule, sees, when, delayMs, each, work, undo })
    const { path, stored: document } = fields
    const references = this.#references
    return { id: name, path, kind: target?.kind, ...placed, references, document, make }
  }

  #id(): string | undefined {
    const id = this.#fields.checked('id', (value) => checkKnownName(value, 'the id of a node'))
    if (id === undefined && !this.#fields.has('id')) this.#fields.missing('id', 'name the node')
    if (id !== undefined && FORBIDDEN.has(id)) {
      this.#context.problems.add([...this.#fields.path, 'id'], 'FORBIDDEN_NAME', forbidden(id))
    }
    return id
  }

  #target(): { readonly kind: NodeKind; readonly name: string } | undefined {
    const fields = this.#fields
    const words = ['handler', 'workflow', 'wait'] as const
    const written = words.filter((word) => fields.isWritten(word))
    const given = written.length > 0 ? written : words.filter((word) => fields.has(word))
    if (given.length === 0) {
      const todo =
        'say what the node does: `handler` (an activity, input or output), `workflow` (a child run) or `wait` (for a signal)'
      fields.missing('handler', todo)
    } else if (given.length > 1) {
      const message = `a node does one thing, but this one has ${given.map((word) => `\`${word}\``).join(' and ')}: split it into separate nodes`
      fields.problems.add(fields.path, 'CONFLICTING_FIELDS', message)
    }
    const names = words.map((word) => {
      const field = fields.take(word)
      if (field === undefined || !given.includes(word)) return undefined
      const check = (): string => checkKnownName(field.value, word)
      return fields.problems.attempt(field.path, 'INVALID_VALUE', check)
    })
    const [handler, workflow, wait] = names
    if (given.length !== 1) return undefined
    if (workflow !== undefined) return { kind: 'child', name: workflow }
    if (wait !== undefined) return { kind: 'wait', name: wait }
    if (handler === undefined) return undefined
    if (handler === 'input' || handler === 'output') return { kind: handler, name: handler }
    this.#checkHandler(handler, [...fields.path, 'handler'])
    return { kind: 'activity', name: handler }
  }

  #checkHandler(name: string, path: Path): void {
    const { handlers, problems } = this.#context
    if (handlers === undefined || handlers.has(name)) return
    const near = problems.didYouMean(name, [...handlers.keys(), 'input', 'output'])
    const message = `unknown activity ${quote(name)}${near === '' ? ': register it, or correct the name' : near}`
    problems.add(path, 'UNKNOWN_HANDLER', message)
  }

  #after(): Pick<OrderedNode, 'after' | 'afterPath' | 'isWhole'> {
    const field = this.#fields.take('after', 'dependencies')
    const none = [...this.#fields.path, 'after']
    if (field === undefined) return { after: [], afterPath: none, isWhole: true }
    const { value, path } = field
    if (!Array.isArray(value)) {
      const todo = typeof value === 'string' ? `: write [${value.slice(0, 60)}]` : ''
      const message = `expected a list of ids, got ${kindOf(value)}${todo}`
      this.#context.problems.add(path, 'WRONG_TYPE', message)
      return { after: [], afterPath: path, isWhole: false }
    }
    const after = (value as readonly Json[]).flatMap((id, at) => {
      if (typeof id === 'string') return [{ id, at }]
      const message = `expected the id of a node, got ${kindOf(id)}`
      this.#context.problems.add([...path, at], 'WRONG_TYPE', message)
      return []
    })
    return { after, afterPath: path, isWhole: after.length === value.length }
  }

  /** Reads a field that must be a single expression. */
  #single(name: string, alternative: (value: Json) => boolean, expected: string): Compiled | undefined {
    const field = this.#fields.take(name)
    if (field === undefined) return undefined
    const compiled = this.#compile(field, BEFORE)
    if (compiled.template.kind === 'value' || alternative(field.value)) return compiled
    // A template with an error has been reported already.
    const isText = typeof field.value === 'string' && field.value.includes('{{')
    if (isText && compiled.template.kind === 'plain') return undefined
    this.#context.problems.add(field.path, 'WRONG_TYPE', `expected ${expected}`)
    return undefined
  }

  #when(): GraphNode['when'] {
    const expected = 'a single expression without text around it, such as "{{ input.amount > 10 }}", or true or false'
    const compiled = this.#single('when', (value) => typeof value === 'boolean', expected)
    return compiled && this.#context.functions.condition(compiled.template, [...this.#fields.path, 'when'])
  }

  #each(): GraphNode['each'] {
    const expected = 'a single expression that returns a list, such as "{{ nodes.list.items }}", or a list'
    const compiled = this.#single('each', Array.isArray, expected)
    const parallel = this.#fields.checked('parallel', parallelOf)
    if (parallel !== undefined && !this.#fields.has('each')) {
      const message = '`parallel` needs `each`: add `each`, or remove `parallel`'
      this.#context.problems.add([...this.#fields.path, 'parallel'], 'CONFLICTING_FIELDS', message)
    }
    if (compiled === undefined) return undefined
    const over = this.#context.functions.list(compiled.template, [...this.#fields.path, 'each'])
    return defined({ over, parallel })
  }

  #work(
    { kind, name }: { readonly kind: NodeKind; readonly name: string },
    isRepeated: boolean,
    parents: readonly string[],
  ): Work {
    if (kind === 'wait') {
      const timeout = readDuration(this.#fields, 'timeout')
      const timeoutMs = timeout === undefined ? {} : { timeoutMs: milliseconds(timeout) }
      return { type: 'wait', signal: name, ...timeoutMs }
    }
    if (kind === 'input') {
      return { type: 'step', options: {}, body: ({ input }) => this.#context.inputOf(input) }
    }
    const roots = isRepeated ? FOR_ITEM : BEFORE
    const given = this.#with(this.#fields, roots, kind === 'activity' ? name : undefined)
    const input = this.#context.functions.input(given, parents, isRepeated)
    if (kind === 'output') return { type: 'step', options: {}, body: (ctx) => input(ctx) }
    return kind === 'child'
      ? { type: 'child', options: readChildOptions(this.#fields), workflow: name, input }
      : { type: 'activity', options: readActivityOptions(this.#fields), activity: name, input }
  }

  #undo(): Undo | undefined {
    const field = this.#fields.take('compensate')
    const source = field && objectAt(field.value, field.path, this.#context.problems)
    if (field === undefined || source === undefined) return undefined
    const fields = new ObjectReader(source, field.path, this.#context.problems, undoFieldNames)
    const activity = fields.checked('handler', (value) => checkKnownName(value, 'handler'))
    if (activity !== undefined) this.#checkHandler(activity, [...field.path, 'handler'])
    else if (!fields.has('handler')) fields.missing('handler', 'name the activity that undoes it')
    const given = this.#with(fields, FOR_UNDO, activity)
    const ownFailure = fields.typed('ownFailure', 'boolean')
    const options = readActivityOptions(fields)
    fields.finish()
    this.#fields.stored['compensate'] = fields.stored
    if (activity === undefined) return undefined
    const activityInput = this.#context.functions.undoInput(given)
    return { options, activity, activityInput, ...(ownFailure === true && { ownFailure }) }
  }

  #with(fields: ObjectReader, roots: readonly Root[], activity?: string): Template | undefined {
    const { handlers, problems } = this.#context
    const field = fields.take('with', 'config')
    if (field === undefined) return undefined
    const { template } = this.#compile(field, roots)
    const description = activity === undefined ? undefined : handlers?.get(activity)
    if (activity !== undefined && description) checkHandlerInput(activity, description, field, problems)
    return template
  }

  #compile({ value, path }: Field, roots: readonly Root[]): Compiled {
    const compiled = this.#context.templates.compile(value, path, roots)
    for (const reference of compiled.references) this.#references.push(reference)
    return compiled
  }
}

function parallelOf(value: Json): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  const given = typeof value === 'number' ? value : kindOf(value)
  throw new PawlError('INPUT_INVALID', `expected a whole number of at least 1, got ${given}`)
}
