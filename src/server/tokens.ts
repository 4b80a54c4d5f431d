// Tokens of the API: made once, shown once, and kept as a digest. `pawl_<id>_<secret>`: the id finds the record, and the
// digest of the secret is compared in constant time.
import { createHash, timingSafeEqual } from 'node:crypto'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { checkName } from '../core/base/names.ts'
import type { Records } from '../core/index.ts'
import type { Clock } from '../core/runtime/clock.ts'
import { secretBytes } from '../core/runtime/random.ts'
import type { Credential, TokenRecord } from '../operations/outputs.ts'

interface Stored extends Credential {
  /** SHA-256 of the secret. It is random, so a slow hash would add nothing. */
  readonly digest: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

const SPACE = 'tokens'
const FORM = /^pawl_([0-9a-z]{12})_([0-9a-z]{40})$/
const idLength = 12
const secretLength = 40

export class Tokens {
  readonly #records: Records
  readonly #clock: Clock
  /** The token that the settings name: it is not in the store. */
  readonly #own: Stored | undefined
  /** There is a token in the store; tokens are never deleted. */
  #exist = false
  #lookAt = Number.NEGATIVE_INFINITY
  readonly #known = new Map<string, { readonly until: number; readonly stored: Stored | undefined }>()

  constructor(records: Records, clock: Clock, own?: { readonly token: string; readonly namespace: string }) {
    this.#records = records
    this.#clock = clock
    if (own === undefined) return
    const credential = { name: 'the token of the settings', scope: 'admin', namespace: own.namespace } as const
    this.#own = { ...credential, digest: digestOf(own.token), createdAt: clock.now() }
  }

  /** True if a request needs a token. A token that another process made counts after a while. */
  async areNeeded(): Promise<boolean> {
    if (this.#own !== undefined || this.#exist) return true
    const now = this.#clock.monotonic()
    if (now < this.#lookAt) return false
    this.#exist = (await this.#records.list(SPACE, undefined, 1)).length > 0
    this.#lookAt = now + limits.tokenCacheMs
    return this.#exist
  }

  /** What the token may do; undefined if it is unknown, expired or revoked. */
  async find(token: string): Promise<Credential | undefined> {
    const [, id = '', secret = ''] = FORM.exec(token) ?? []
    const there = id === '' ? undefined : await this.#stored(id)
    // The token of the settings may have the form of those in the store, but never takes the place of one.
    const stored = there ?? this.#own
    // An unknown token takes as long as a wrong one.
    const isEqual = sameDigest(digestOf(there ? secret : token), stored?.digest ?? '0'.repeat(64))
    if (!stored || !isEqual || stored.revokedAt !== undefined) return undefined
    if (stored.expiresAt !== undefined && stored.expiresAt <= this.#clock.now()) return undefined
    const { name, scope, namespace } = stored
    return { name, scope, namespace }
  }

  async #stored(id: string): Promise<Stored | undefined> {
    const now = this.#clock.monotonic()
    const known = this.#known.get(id)
    if (known && known.until > now) return known.stored
    const stored = (await this.#records.get<Stored>(SPACE, id))?.value
    if (this.#known.size >= limits.countersKept) this.#known.clear()
    this.#known.set(id, { until: now + limits.tokenCacheMs, stored })
    return stored
  }

  /** Makes a token. Its text is returned once, and cannot be read again. */
  async create(given: Credential & { readonly expiresAt?: Date }): Promise<{ readonly token: string } & TokenRecord> {
    const [id, secret] = [randomText(idLength), randomText(secretLength)]
    const { name, scope, namespace, expiresAt } = given
    checkName(name, 'the name of a token')
    const stored: Stored = {
      ...{ name, scope, namespace, digest: digestOf(secret), createdAt: this.#clock.now() },
      ...(expiresAt && { expiresAt: expiresAt.getTime() }),
    }
    await this.#records.put(SPACE, id, 0, stored)
    this.#exist = true
    return { token: `pawl_${id}_${secret}`, ...shown(id, stored) }
  }

  async list(): Promise<readonly TokenRecord[]> {
    const found: TokenRecord[] = []
    for (let after: string | undefined; ; ) {
      const page = await this.#records.list<Stored>(SPACE, after, limits.recordsListedMax)
      found.push(...page.map(([id, stored]) => shown(id, stored)))
      after = page.at(-1)?.[0]
      if (page.length < limits.recordsListedMax) return found
    }
  }

  /** Other servers notice within `limits.tokenCacheMs`. */
  async revoke(id: string): Promise<void> {
    const there = await this.#records.get<Stored>(SPACE, id)
    if (!there)
      throw new PawlError('TOKEN_INVALID', `there is no token with the id '${id}'. List the tokens to see their ids.`)
    if (there.value.revokedAt !== undefined) return
    await this.#records.change<Stored>(SPACE, id, (stored = there.value) => ({
      ...stored,
      revokedAt: this.#clock.now(),
    }))
    this.#known.delete(id)
  }
}

function shown(id: string, { name, scope, namespace, createdAt, expiresAt, revokedAt }: Stored): TokenRecord {
  return {
    ...{ id, name, scope, namespace, createdAt: new Date(createdAt) },
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    ...(revokedAt !== undefined && { revokedAt: new Date(revokedAt) }),
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

function sameDigest(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

/** Letters and digits; 40 of them hold 200 random bits. */
function randomText(length: number): string {
  const digits = '0123456789abcdefghijklmnopqrstuvwxyz'
  let text = ''
  while (text.length < length) {
    // Numbers from 252 on are left out, so that every digit is equally likely.
    for (const byte of secretBytes(length)) if (byte < 252 && text.length < length) text += digits[byte % 36]
  }
  return text
}
