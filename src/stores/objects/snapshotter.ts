// Writes snapshots: the changes since the newest one, or the whole state once the changes are half as large. A process
// that dies meanwhile leaves parts that no snapshot lists; a later sweep deletes them.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Random } from '../../core/runtime/random.ts'
import type { Bucket, Listing } from './bucket.ts'
import { listAll, PARTS, partKey, snapshotKey } from './layout.ts'
import type { Replica } from './replica.ts'
import {
  captureAll,
  captureChanged,
  type Manifest,
  manifestIn,
  type Part,
  type Snapshot,
  textsOf,
  withHeader,
} from './snapshot.ts'

export interface SnapshotSettings {
  /** The maximum size of a snapshot in one object. */
  readonly snapshotBytes: number
  /** The approximate size of one part of a larger snapshot. */
  readonly partBytes: number
}

export interface SnapshotterPorts {
  readonly replica: Replica
  readonly bucket: Bucket
  readonly clock: Clock
  readonly random: Random
  readonly settings: SnapshotSettings
}

type Texts = ReturnType<typeof textsOf>

export class Snapshotter {
  readonly #ports: SnapshotterPorts
  /** The manifests of snapshots that this process read or wrote, by key. They never change. */
  #manifests = new Map<string, Manifest>()

  constructor(ports: SnapshotterPorts) {
    this.#ports = ports
  }

  async write(): Promise<void> {
    const { replica, clock, settings } = this.#ports
    if (replica.position <= replica.snapshot) return
    const base = await this.#base(replica.snapshot)
    const { position, snapshot } = replica
    // Another process has just written a snapshot.
    if (position <= snapshot || (base && base.n !== snapshot)) return
    const state = replica.dump()
    const captured = base ? captureChanged(state, replica.touched, base.n) : captureAll(state)
    await this.#save(state, textsOf(captured, settings.partBytes, clock), base?.parts)
    replica.noteSnapshot(position)
  }

  /** Returns the complete snapshots among these, with the keys of their parts. */
  async whole(snapshots: readonly Listing[], parts: ReadonlySet<string>): Promise<Map<Listing, readonly string[]>> {
    const found = new Map<Listing, readonly string[]>()
    const known = new Map<string, Manifest>()
    for (const each of snapshots) {
      const manifest = await this.#manifest(each.key)
      if (!manifest) continue
      known.set(each.key, manifest)
      const keys = (manifest.parts ?? []).map(({ key }) => key)
      if (keys.every((key) => parts.has(key))) found.set(each, keys)
    }
    this.#manifests = known
    return found
  }

  // Returns the newest snapshot if changes can be added to it: it is large enough, and no part of it was deleted.
  async #base(n: number): Promise<Manifest | undefined> {
    const manifest = n === 0 ? undefined : await this.#manifest(snapshotKey(n))
    const { parts = [] } = manifest ?? {}
    const bytes = { whole: 0, changed: 0 }
    for (const part of parts) bytes[part.n === parts[0]?.n ? 'whole' : 'changed'] += part.bytes
    if (parts.length === 0 || parts.length >= limits.snapshotPartsMax) return undefined
    if (bytes.changed > bytes.whole / 2) return undefined
    const there = new Set((await listAll(this.#ports.bucket, PARTS)).map(({ key }) => key))
    return parts.every(({ key }) => there.has(key)) ? manifest : undefined
  }

  async #manifest(key: string): Promise<Manifest | undefined> {
    const known = this.#manifests.get(key)
    if (known) return known
    const body = await this.#ports.bucket.get(key)
    if (body === undefined) return undefined
    const manifest = manifestIn(key, body)
    this.#manifests.set(key, manifest)
    return manifest
  }

  async #save(state: Snapshot, texts: Texts, before?: readonly Part[]): Promise<void> {
    const { bucket, settings } = this.#ports
    const { n, at, archive } = state
    const key = snapshotKey(n)
    const { value: first } = await texts.next()
    const isSmall = !before && (!first || first.text.length <= settings.snapshotBytes)
    if (isSmall) {
      const { text = '', lines = 0 } = first ?? {}
      const body = withHeader({ n, at, archive }, text, lines)
      if ((await bucket.create(key, body)) === 'created') this.#manifests.set(key, { n, at, archive })
      return
    }
    const parts = [...(before ?? []), ...(await this.#saveParts(n, first, texts))]
    const body = withHeader({ n, at, archive, parts }, '', 0)
    if ((await bucket.create(key, body)) === 'created') this.#manifests.set(key, { n, at, archive, parts })
  }

  async #saveParts(
    n: number,
    first: { readonly text: string; readonly lines: number } | undefined,
    rest: Texts,
  ): Promise<Part[]> {
    const { bucket, random } = this.#ports
    const writer = random.integer().toString(36)
    const parts: Part[] = []
    for (let each = first; each; each = (await rest.next()).value ?? undefined) {
      const key = partKey(n, parts.length, writer)
      const body = withHeader({ n }, each.text, each.lines)
      await bucket.create(key, body)
      parts.push({ key, bytes: Buffer.byteLength(body), n })
    }
    return parts
  }
}
