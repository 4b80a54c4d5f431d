// Secrets by name. Inputs refer to a secret by its name; its value stays in this process and is sent only to its hosts.
import { either, hidden, nested, type Option, option, required, strings } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { permanentError } from './errors.ts'
import type { Header } from './guarded-fetch.ts'
import { HostList, hostOf } from './hosts.ts'
import { InputReader, nonEmptyText } from './input-reader.ts'

/** The secret, or a function that returns it and is called each time it is needed. */
export type SecretValue = string | (() => string | Promise<string>)

const secretValue = option<SecretValue>(
  'The secret, or a function that returns it and is called each time it is needed.',
  'a string, or a function that returns one',
  (value) => typeof value === 'string' || typeof value === 'function',
)

export const secretOption = hidden(
  either(
    secretValue,
    nested('The secret and the hosts it may be sent to.', {
      value: required(hidden(secretValue)),
      /** The only hosts it is sent to. */
      hosts: required(strings('The only hosts it is sent to.', 'a list of hosts')),
    }),
  ),
)
export type Secret = typeof secretOption extends Option<infer T> ? T : never

/** How a header refers to a secret. */
export const secretReference = {
  secret: required(nonEmptyText('The name of the secret.')),
  prefix: nonEmptyText("Text before the secret, such as `'Bearer '`."),
} as const

interface Known {
  readonly value: SecretValue
  /** Undefined: every host the handler may connect to. */
  readonly hosts: HostList | undefined
}

export class Secrets {
  readonly #known = new Map<string, Known>()

  constructor(secrets: Readonly<Record<string, Secret>>, hosts: readonly string[] | undefined, what: string) {
    for (const [name, secret] of Object.entries(secrets)) {
      const isBound = typeof secret === 'object'
      if (!isBound && hosts === undefined) {
        const message = `the secret '${name}' of ${what} is not restricted to any host. Write { value, hosts: ['api.example.com'] }, or set 'hosts' of ${what}.`
        throw new PawlError('DEFINITION_INVALID', message)
      }
      const bound = isBound ? new HostList(secret.hosts, `the secret '${name}' of ${what}`) : undefined
      this.#known.set(name, { value: isBound ? secret.value : secret, hosts: bound })
    }
  }

  /** Resolves `{ secret: 'name', prefix: 'Bearer ' }` to a header for this URL. */
  async header(name: string, reference: unknown, url: URL): Promise<Header> {
    const fields = new InputReader(`header '${name}'`, reference, secretReference)
    const secret = fields.get('secret')
    const prefix = fields.get('prefix') ?? ''
    const known = this.#known.get(secret)
    if (!known) {
      const message = `header '${name}' names the secret '${secret}', which does not exist. Add it to 'secrets' of the options.`
      throw permanentError('SECRET_UNKNOWN', message, { secret })
    }
    const host = hostOf(url)
    if (known.hosts && !known.hosts.includes(host)) {
      const message = `the secret '${secret}' may not be sent to '${host}'. Add the host to 'hosts' of the secret to allow it.`
      throw permanentError('SECRET_REFUSED', message, { secret, host })
    }
    return {
      name,
      value: prefix + (await valueOf(known.value, `secret '${secret}'`)),
      isSecret: true,
    }
  }
}

export async function valueOf(secret: SecretValue, what: string): Promise<string> {
  const value: unknown = typeof secret === 'function' ? await secret() : secret
  if (typeof value === 'string' && value !== '') return value
  throw permanentError('SECRET_UNKNOWN', `the ${what} is empty; expected a non-empty string.`)
}
