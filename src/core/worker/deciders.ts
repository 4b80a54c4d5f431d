// Who decides for a run: the code this worker has, or a definition that is kept in the store.

import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Catalogue, StoredDefinition } from '../catalogue/catalogue.ts'
import { deciderOf } from '../deciders/of.ts'
import { type ParseGraph, registeredDocument } from '../definitions/graph-document.ts'
import type { Registry } from '../definitions/registry.ts'
import type { Decider } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { Head } from '../kernel/run.ts'

/** Which version of a definition: by its number, or by the hash of what it consists of. */
type Wanted = { readonly version: number } | { readonly hash: string } | 'newest'

export class Deciders {
  readonly #registry: Registry
  readonly #catalogue: Catalogue | undefined
  readonly #parse: ParseGraph
  readonly #coded = new Map<string, Decider>()
  readonly #submitted = new Map<string, Decider>()

  /** Without a catalogue it knows only code. */
  constructor(registry: Registry, parse: ParseGraph, catalogue?: Catalogue) {
    this.#registry = registry
    this.#parse = parse
    this.#catalogue = catalogue
  }

  /** For a run that stands where these events left it. */
  async of(head: Head, events: readonly HistoryEvent[]): Promise<Decider | undefined> {
    const wanted = wantedBy(head, events)
    const coded = this.#ofCode(head.name)
    if (coded && (wanted === 'newest' || 'hash' in wanted)) return coded
    const stored = await this.#stored(head.name, wanted)
    if (stored?.document !== undefined) return this.#ofDocument(stored)
    if (!coded && wanted !== 'newest' && 'hash' in wanted) throw nobodyHas(head.name, wanted.hash)
    return coded
  }

  #ofCode(name: string): Decider | undefined {
    const there = this.#coded.get(name)
    const workflow = there ? undefined : this.#registry.workflow(name)
    if (!workflow) return there
    const decider = deciderOf(workflow, this.#registry)
    // Names that only the one for all others answers for may be without number.
    if (this.#registry.workflows.has(name)) this.#coded.set(name, decider)
    return decider
  }

  async #stored(name: string, wanted: Wanted): Promise<StoredDefinition | undefined> {
    const catalogue = this.#catalogue
    if (wanted === 'newest') return catalogue?.newest(name)
    if ('hash' in wanted) return catalogue?.withHash(name, wanted.hash)
    const stored = await catalogue?.version(name, wanted.version)
    if (stored || !catalogue) return stored
    const message = `this run goes by version ${wanted.version} of definition '${name}', and the store has no such version. See which there are: pawl definitions ${name}`
    throw new PawlError('WORKFLOW_NOT_FOUND', message)
  }

  // A version never changes.
  #ofDocument(stored: StoredDefinition): Decider {
    const key = `${stored.name}/${stored.version}`
    const known = this.#submitted.get(key)
    if (known) return known
    const graph = registeredDocument(this.#parse(stored.document, { stored: true }))
    const decider = deciderOf({ ...graph, version: stored.version }, this.#registry)
    if (this.#submitted.size >= limits.definitionsKept) this.#submitted.clear()
    this.#submitted.set(key, decider)
    return decider
  }
}

function nobodyHas(name: string, hash: string): PawlError {
  const message = `this run is to go by definition ${hash} of '${name}', and there is neither code for it here nor such a version in the store. Submit that definition and resume the run, or migrate it to one that is there.`
  return new PawlError('WORKFLOW_NOT_FOUND', message)
}

// What was said last about it: by a migration, by the definition it took, or by whoever started it.
function wantedBy({ extras }: Head, events: readonly HistoryEvent[]): Wanted {
  const last = events.findLast(
    ({ type }) => type === 'DefinitionTaken' || type === 'MigrationRequested',
  )
  if (last?.type === 'MigrationRequested') return { hash: last.hash }
  const version = last?.type === 'DefinitionTaken' ? last.version : extras.version
  return version === undefined ? 'newest' : { version }
}
