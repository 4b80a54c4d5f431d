// Stores use UUIDs as ids of runs and tasks; cases use readable labels. This translates between the two on the way in
// and out. Names, workflow ids and message ids are free text and stay as they are.
import { deriveUuid } from '../../core/base/digest.ts'
import type { Store } from '../../core/stores/store.ts'
import { type Around, wrapped } from '../../core/stores/wrapped.ts'

/** Returns the id of a label. */
export function idFor(label: string): string {
  return deriveUuid('conformance', label)
}

export class Labels {
  readonly #known = new Map<string, string>()

  /** Wraps a store so that its callers use labels. */
  on(store: Store): Store {
    const id = <T>(value: T): T => translate(value, (label) => this.#idFor(label))
    const label = <T>(value: T): T => translate(value, (each) => this.#known.get(each) ?? each)
    const around: Around =
      (_method, call) =>
      async (...args) =>
        label(await call(...id(args)))
    const wake: Store['wake'] = (listener) => store.wake((hint) => listener(label(hint)))
    return wrapped(store, around, { wake })
  }

  #idFor(label: string): string {
    const id = idFor(label)
    this.#known.set(id, label)
    return id
  }
}

const idFields = new Set(['runId', 'taskId', 'alongside', 'parentId'])
/** Texts in these lists are ids; some of the lists contain records instead. */
const idLists = new Set(['held', 'heldTasks', 'dropped', 'tasks', 'lostTasks'])

function translate<T>(value: T, map: (text: string) => string): T {
  return walk(value, map, false) as T
}

function walk(value: unknown, map: (text: string) => string, areIds: boolean): unknown {
  if (typeof value === 'string') return areIds ? map(value) : value
  if (Array.isArray(value)) return value.map((each) => walk(each, map, areIds))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, each]) => {
    return [name, walk(each, map, idFields.has(name) || idLists.has(name))]
  })
  return Object.fromEntries(entries)
}
