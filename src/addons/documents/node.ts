// One node of a document: what it is, what it is given, when it begins. Everything is read even if something is wrong, so that
// all of it is told; the step is made of it only when nothing is.
import { milliseconds } from '../../core/base/duration.ts'
import { PawlError } from '../../core/base/errors.ts'
import { checkKnownName } from '../../core/base/names.ts'
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import {
  activityOptions,
  type GraphNode,
  type KnownActivities,
  RULES,
  type Undo,
  type Work,
} from '../../core/index.ts'
import { FORBIDDEN, type Root } from './expression.ts'
import { type Field, Fields, type JsonObject, type Names, objectAt } from './fields.ts'
import { checkHandlerInput } from './handler-input.ts'
import { adviceFor, isOutside, type NodeKind, nodeNames } from './node-fields.ts'
import { oneOf, readActivityOptions, readChildOptions, readDuration } from './options.ts'
import type { Placed } from './order.ts'
import type { InputOf } from './parameters.ts'
import { kindOf, type Path, type Problems } from './problems.ts'
import type { Scopes } from './scope.ts'
import {
  type Compiled,
  forbidden,
  type Reference,
  type Template,
  type Templates,
} from './template.ts'

/** What all nodes of a document share. */
export interface Surroundings {
  readonly problems: Problems
  readonly templates: Templates
  readonly handlers: KnownActivities | undefined
  readonly inputOf: InputOf
  readonly scopes: Scopes
}

export interface NodeDraft extends Placed {
  readonly kind: NodeKind | undefined
  readonly references: readonly Reference[]
  /** As it is stored. */
  readonly document: JsonObject
  /** `sees` are the nodes whose results it sees. */
  readonly make: (sees: readonly string[]) => GraphNode | undefined
}

export function readNode(value: Json, path: Path, around: Surroundings): NodeDraft | undefined {
  const source = objectAt(value, path, around.problems)
  return (
    source && new NodeReader(new Fields(source, path, around.problems, nodeNames), around).read()
  )
}

const BEFORE: readonly Root[] = ['input', 'nodes']
const FOR_ITEM: readonly Root[] = ['input', 'nodes', 'item', 'index']
const FOR_UNDO: readonly Root[] = ['input', 'nodes', 'result']

const undoNames: Names = {
  all: ['handler', 'with', 'config', 'ownFailure', ...Object.keys(activityOptions), 'timeout'],
  meant: {},
  needed: ['handler'],
}

class NodeReader {
  readonly #fields: Fields
  readonly #around: Surroundings
  readonly #references: Reference[] = []

  constructor(fields: Fields, around: Surroundings) {
    this.#fields = fields
    this.#around = around
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
    const each = target && isOutside(target.kind) ? this.#each() : undefined
    const parents = after.map(({ id }) => id)
    const work = target && this.#work(target, fields.has('each'), parents)
    const undo = target && isOutside(target.kind) ? this.#undo() : undefined
    fields.finish((field) => adviceFor(field, target?.kind))
    if (name === undefined) return undefined
    const make = (sees: readonly string[]): GraphNode | undefined =>
      work && {
        name,
        after: parents,
        rule,
        sees,
        ...(when && { when }),
        ...(delay !== undefined && { delayMs: milliseconds(delay) }),
        ...(each && { each }),
        work,
        ...(undo && { undo }),
      }
    const { path, kept: document } = fields
    const references = this.#references
    return { id: name, path, kind: target?.kind, ...placed, references, document, make }
  }

  #id(): string | undefined {
    const id = this.#fields.checked('id', (value) => checkKnownName(value, 'the id of a node'))
    if (id === undefined && !this.#fields.has('id')) this.#fields.missing('id', 'name the node')
    if (id !== undefined && FORBIDDEN.has(id)) {
      this.#around.problems.add([...this.#fields.path, 'id'], 'FORBIDDEN_NAME', forbidden(id))
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
        'say what the node does: `handler` (an activity, input or output), `workflow` (a run of its own) or `wait` (for a signal)'
      fields.missing('handler', todo)
    } else if (given.length > 1) {
      const message = `a node does one thing, and this has ${given.map((word) => `\`${word}\``).join(' and ')}: make them nodes of their own`
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
    const { handlers, problems } = this.#around
    if (handlers === undefined || handlers.has(name)) return
    const near = problems.didYouMean(name, [...handlers.keys(), 'input', 'output'])
    const message = `no activity ${quote(name)} is known here${near === '' ? ': register it, or correct the name' : near}`
    problems.add(path, 'UNKNOWN_HANDLER', message)
  }

  #after(): Pick<Placed, 'after' | 'afterPath' | 'isWhole'> {
    const field = this.#fields.take('after', 'dependencies')
    const none = [...this.#fields.path, 'after']
    if (field === undefined) return { after: [], afterPath: none, isWhole: true }
    const { value, path } = field
    if (!Array.isArray(value)) {
      const todo = typeof value === 'string' ? `: write [${value.slice(0, 60)}]` : ''
      const message = `expected a list of ids, and got ${kindOf(value)}${todo}`
      this.#around.problems.add(path, 'WRONG_TYPE', message)
      return { after: [], afterPath: path, isWhole: false }
    }
    const after = (value as readonly Json[]).flatMap((id, at) => {
      if (typeof id === 'string') return [{ id, at }]
      const message = `expected the id of a node, and got ${kindOf(id)}`
      this.#around.problems.add([...path, at], 'WRONG_TYPE', message)
      return []
    })
    return { after, afterPath: path, isWhole: after.length === value.length }
  }

  /** A field that is one template and nothing else. */
  #single(
    name: string,
    alternative: (value: Json) => boolean,
    expected: string,
  ): Compiled | undefined {
    const field = this.#fields.take(name)
    if (field === undefined) return undefined
    const compiled = this.#compile(field, BEFORE)
    if (compiled.template.kind === 'value' || alternative(field.value)) return compiled
    // What has a mistake in it has been told of.
    const isText = typeof field.value === 'string' && field.value.includes('{{')
    if (isText && compiled.template.kind === 'plain') return undefined
    this.#around.problems.add(field.path, 'WRONG_TYPE', `expected ${expected}`)
    return undefined
  }

  #when(): GraphNode['when'] {
    const expected =
      'one expression and nothing around it, such as "{{ input.amount > 10 }}", or true or false'
    const compiled = this.#single('when', (value) => typeof value === 'boolean', expected)
    return (
      compiled && this.#around.scopes.condition(compiled.template, [...this.#fields.path, 'when'])
    )
  }

  #each(): GraphNode['each'] {
    const expected = 'one expression that gives a list, such as "{{ nodes.list.items }}", or a list'
    const compiled = this.#single('each', Array.isArray, expected)
    const parallel = this.#fields.checked('parallel', parallelOf)
    if (parallel !== undefined && !this.#fields.has('each')) {
      const message = '`parallel` is for a node that has `each`'
      this.#around.problems.add([...this.#fields.path, 'parallel'], 'CONFLICTING_FIELDS', message)
    }
    if (compiled === undefined) return undefined
    const over = this.#around.scopes.list(compiled.template, [...this.#fields.path, 'each'])
    return { over, ...(parallel !== undefined && { parallel }) }
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
      return { type: 'step', options: {}, body: ({ input }) => this.#around.inputOf(input) }
    }
    const roots = isRepeated ? FOR_ITEM : BEFORE
    const given = this.#with(this.#fields, roots, kind === 'activity' ? name : undefined)
    const input = this.#around.scopes.given(given, parents, isRepeated)
    if (kind === 'output') return { type: 'step', options: {}, body: (ctx) => input(ctx) }
    return kind === 'child'
      ? { type: 'child', options: readChildOptions(this.#fields), workflow: name, input }
      : { type: 'activity', options: readActivityOptions(this.#fields), activity: name, input }
  }

  #undo(): Undo | undefined {
    const field = this.#fields.take('compensate')
    const source = field && objectAt(field.value, field.path, this.#around.problems)
    if (field === undefined || source === undefined) return undefined
    const fields = new Fields(source, field.path, this.#around.problems, undoNames)
    const activity = fields.checked('handler', (value) => checkKnownName(value, 'handler'))
    if (activity !== undefined) this.#checkHandler(activity, [...field.path, 'handler'])
    else if (!fields.has('handler')) fields.missing('handler', 'name the activity that undoes it')
    const given = this.#with(fields, FOR_UNDO, activity)
    const ownFailure = fields.typed('ownFailure', 'boolean')
    const options = readActivityOptions(fields)
    fields.finish()
    this.#fields.kept['compensate'] = fields.kept
    if (activity === undefined) return undefined
    const activityInput = this.#around.scopes.undone(given)
    return { options, activity, activityInput, ...(ownFailure === true && { ownFailure }) }
  }

  #with(fields: Fields, roots: readonly Root[], activity?: string): Template | undefined {
    const { handlers, problems } = this.#around
    const field = fields.take('with', 'config')
    if (field === undefined) return undefined
    const { template } = this.#compile(field, roots)
    const description = activity === undefined ? undefined : handlers?.get(activity)
    if (activity !== undefined && description)
      checkHandlerInput(activity, description, field, problems)
    return template
  }

  #compile({ value, path }: Field, roots: readonly Root[]): Compiled {
    const compiled = this.#around.templates.compile(value, path, roots)
    for (const reference of compiled.references) this.#references.push(reference)
    return compiled
  }
}

function parallelOf(value: Json): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw new PawlError('INPUT_INVALID', 'expected a whole number from 1')
}
