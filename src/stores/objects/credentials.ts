// Finds credentials for S3: from a function of the program, the environment, or a profile in a file, in this order.
// Error messages never contain secrets.
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/time.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { environment } from '../../core/runtime/process.ts'

/** Credentials for S3. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** The provider is called again a minute before this time. */
  readonly expiresAt?: Instant
}

/** Returns current credentials. pawl calls it again before they expire, and when the server refuses them. */
export type CredentialProvider = () => Promise<Credentials>

/** The provider is called again this long before the credentials expire. */
const EARLY_MS = 60_000

/** Caches credentials until they expire. Concurrent callers share one call of the provider. */
export class CredentialSource {
  readonly #provide: CredentialProvider
  readonly #clock: Clock
  #current: Credentials | undefined
  #asking: Promise<Credentials> | undefined

  constructor(provide: CredentialProvider, clock: Clock) {
    this.#provide = provide
    this.#clock = clock
  }

  async get(): Promise<Credentials> {
    if (this.#current && !this.#expiresWithin(EARLY_MS)) return this.#current
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  /** Drops credentials that the server refused, so that the next caller gets new ones. */
  forget(refused: Credentials): void {
    if (this.#current === refused) this.#current = undefined
  }

  async #ask(): Promise<Credentials> {
    try {
      this.#current = checked(await this.#provide())
      return this.#current
    } catch (error) {
      // The current ones are valid for another moment, and the provider may work again by then.
      if (this.#current && !this.#expiresWithin(0)) return this.#current
      throw error instanceof PawlError ? error : unavailable('credentials for S3', error)
    }
  }

  #expiresWithin(ms: number): boolean {
    const { expiresAt } = this.#current ?? {}
    return expiresAt !== undefined && expiresAt - ms <= this.#clock.now()
  }
}

/** The provider for a program that gives no function. */
export function findCredentials(profile: string | undefined): CredentialProvider {
  return async () => {
    const found = fromEnvironment() ?? (await fromProfile(profile))
    if (found) return found
    throw new PawlError(
      'STORE_URL_INVALID',
      'there are no credentials for S3. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set AWS_PROFILE to a profile in ~/.aws/credentials, or pass a function: open(url, { credentials }).',
    )
  }
}

function fromEnvironment(): Credentials | undefined {
  const accessKeyId = environment('AWS_ACCESS_KEY_ID')
  const secretAccessKey = environment('AWS_SECRET_ACCESS_KEY')
  if (!accessKeyId || !secretAccessKey) return undefined
  const sessionToken = environment('AWS_SESSION_TOKEN')
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
}

async function fromProfile(given: string | undefined): Promise<Credentials | undefined> {
  const profile = given ?? environment('AWS_PROFILE') ?? 'default'
  const file = environment('AWS_SHARED_CREDENTIALS_FILE') ?? join(homedir(), '.aws', 'credentials')
  const text = await readFile(file, 'utf8').catch(() => '')
  const section = sectionOf(text, profile)
  const accessKeyId = section.get('aws_access_key_id')
  const secretAccessKey = section.get('aws_secret_access_key')
  if (!accessKeyId || !secretAccessKey) return undefined
  const sessionToken = section.get('aws_session_token')
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
}

function sectionOf(text: string, name: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>()
  let inside = false
  for (const line of text.split(/\r?\n/)) {
    const heading = /^\s*\[\s*(.+?)\s*\]/.exec(line)
    if (heading) inside = heading[1] === name
    const setting = inside && /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/i.exec(line)
    if (setting) settings.set(String(setting[1]).toLowerCase(), String(setting[2]))
  }
  return settings
}

// Rejects malformed credentials here, because the error about an invalid header would quote the secret.
function checked(given: Credentials): Credentials {
  const { accessKeyId, secretAccessKey, sessionToken } = given
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey, sessionToken })) {
    const missing = value === undefined && name !== 'sessionToken'
    if (!missing && (value === undefined || /^[\x21-\x7e]+$/.test(value))) continue
    throw new PawlError(
      'STORE_URL_INVALID',
      `the ${name} for S3 is ${missing ? 'missing' : 'malformed'}: expected printable ASCII without spaces. Check the environment, the profile or the function that provides it.`,
    )
  }
  return given
}
