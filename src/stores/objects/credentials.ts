// Who signs the requests: a function given by the program, the environment, or a profile in a file, in this order.
// What is secret never gets into a message.
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { environment } from '../../core/runtime/environment.ts'

/** Keys for S3. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** They are asked for again before this. */
  readonly expiresAt?: Instant
}

/** Gives credentials whenever some are needed; they may expire. */
export type CredentialProvider = () => Promise<Credentials>

/** Credentials are asked for again this long before they expire. */
const EARLY_MS = 60_000

/** Credentials as long as they are good. All who wait for new ones wait for the same. */
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

  /** The server does not take these any more. Whoever asks next gets others. */
  forget(refused: Credentials): void {
    if (this.#current === refused) this.#current = undefined
  }

  async #ask(): Promise<Credentials> {
    try {
      this.#current = checked(await this.#provide())
      return this.#current
    } catch (error) {
      // The old ones are still good for a moment, and whoever gives new ones may be well again by then.
      if (this.#current && !this.#expiresWithin(0)) return this.#current
      throw error instanceof PawlError ? error : unavailable('credentials for S3', error)
    }
  }

  #expiresWithin(ms: number): boolean {
    const { expiresAt } = this.#current ?? {}
    return expiresAt !== undefined && expiresAt - ms <= this.#clock.now()
  }
}

/** Where to look when the program gives no function. */
export function findCredentials(profile: string | undefined): CredentialProvider {
  return async () => {
    const found = fromEnvironment() ?? (await fromProfile(profile))
    if (found) return found
    throw new PawlError(
      'STORE_URL_INVALID',
      'there are no credentials for S3. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a profile into ~/.aws/credentials and name it by AWS_PROFILE, or open the store with a function that gives them.',
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

// A header that cannot be sent is quoted in full by the error about it, so a broken secret must never become one.
function checked(given: Credentials): Credentials {
  const { accessKeyId, secretAccessKey, sessionToken } = given
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey, sessionToken })) {
    const missing = value === undefined && name !== 'sessionToken'
    if (!missing && (value === undefined || /^[\x21-\x7e]+$/.test(value))) continue
    throw new PawlError(
      'STORE_URL_INVALID',
      `the ${name} for S3 is missing, or has spaces, line ends or other characters that none has. Check where it comes from.`,
    )
  }
  return given
}
