// Finds the decider of a run: by the code this process has, or by a definition in the store.

import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Catalogue, StoredDefinition } from '../catalogue/catalogue.ts'
import { deciderOf } from '../deciders/decider.ts'
import { type ParseGraph, registeredDocument } from '../definitions/graph-document.ts'
import type { Registry } from '../definitions/registry.ts'
import type { Decider } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { Head } from '../kernel/run.ts'

/** Which version of a definition: by its number, or by the hash of its content. */
type Version = { readonly version: number } | { readonly hash: string } | 'newest'

export class Deciders {
  readonly #registry: Registry
  readonly #catalogue: Catalogue | undefined
  readonly #parse: ParseGraph
  readonly #coded = new Map<string, Decider>()
  readonly #submitted = new Map<string, Decider>()

  /** Without a catalogue, only code is known. */
  constructor(registry: Registry, parse: ParseGraph, catalogue?: Catalogue) {
    this.#registry = registry
    this.#parse = parse
    this.#catalogue = catalogue
  }

  /** The decider of a run with this history, if there is one. */
  async of(head: Head, events: readonly HistoryEvent[]): Promise<Decider | undefined> {
    const version = versionOf(head, events)
    const coded = this.#ofCode(head.name)
    if (coded && (version === 'newest' || 'hash' in version)) return coded
    const stored = await this.#stored(head.name, version)
    if (stored?.document !== undefined) return this.#ofDocument(stored)
    if (!coded && version !== 'newest' && 'hash' in version) throw noDefinition(head.name, version.hash)
    return coded
  }

  #ofCode(name: string): Decider | undefined {
    const there = this.#coded.get(name)
    const workflow = there ? undefined : this.#registry.workflow(name)
    if (!workflow) return there
    const decider = deciderOf(workflow, this.#registry)
    // A workflow registered for all other names may have any number of names: only known ones are kept.
    if (this.#registry.workflows.has(name)) this.#coded.set(name, decider)
    return decider
  }

  async #stored(name: string, version: Version): Promise<StoredDefinition | undefined> {
    const catalogue = this.#catalogue
    if (version === 'newest') return catalogue?.newest(name)
    if ('hash' in version) return catalogue?.withHash(name, version.hash)
    const stored = await catalogue?.version(name, version.version)
    if (stored || !catalogue) return stored
    const message = `this run uses version ${version.version} of definition '${name}', and the store has no such version. List the versions with: pawl definitions ${name}`
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

function noDefinition(name: string, hash: string): PawlError {
  const message = `this run was migrated to definition ${hash} of '${name}', and there is neither code for it here nor such a version in the store. Submit that definition and resume the run, or migrate the run to a definition that exists.`
  return new PawlError('WORKFLOW_NOT_FOUND', message)
}

// The last migration, or the definition the run took, or else the version it was started with.
function versionOf({ extras }: Head, events: readonly HistoryEvent[]): Version {
  const last = events.findLast(({ type }) => type === 'DefinitionTaken' || type === 'MigrationRequested')
  if (last?.type === 'MigrationRequested') return { hash: last.hash }
  const version = last?.type === 'DefinitionTaken' ? last.version : extras.version
  return version === undefined ? 'newest' : { version }
}
