// Secrets by name. Definitions that are data name them; what they are is known to this process alone, and each goes only
// to hosts it is for.
import {
  either,
  hidden,
  nested,
  type Option,
  option,
  required,
  strings,
} from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { Fields, filled } from './fields.ts'
import type { Header } from './guarded-fetch.ts'
import { HostList, hostOf } from './hosts.ts'
import { refused } from './refusals.ts'

/** The secret, or a function that gives it each time it is needed. */
export type SecretValue = string | (() => string | Promise<string>)

const secretValue = option<SecretValue>(
  'The secret, or a function that gives it each time it is needed.',
  'a text, or a function that gives one',
  (value) => typeof value === 'string' || typeof value === 'function',
)

export const secretOption = hidden(
  either(
    secretValue,
    nested('The secret, and where it may go.', {
      value: required(hidden(secretValue)),
      /** The only hosts it is sent to. */
      hosts: required(strings('The only hosts it is sent to.', 'a list of hosts')),
    }),
  ),
)
export type Secret = typeof secretOption extends Option<infer T> ? T : never

/** How a header asks for a secret. */
export const secretReference = {
  secret: required(filled('The name of the secret.')),
  prefix: filled("What goes before it: `'Bearer '`."),
} as const

interface Known {
  readonly value: SecretValue
  /** Undefined is all that the handler may go to. */
  readonly hosts: HostList | undefined
}

export class Secrets {
  readonly #known = new Map<string, Known>()

  constructor(
    secrets: Readonly<Record<string, Secret>>,
    hosts: readonly string[] | undefined,
    what: string,
  ) {
    for (const [name, secret] of Object.entries(secrets)) {
      const isBound = typeof secret === 'object'
      if (!isBound && hosts === undefined) {
        const message = `the secret '${name}' of ${what} could be sent to every host there is. Write { value, hosts: ['api.example.com'] }, or give 'hosts' of ${what}.`
        throw new PawlError('DEFINITION_INVALID', message)
      }
      const bound = isBound
        ? new HostList(secret.hosts, `the secret '${name}' of ${what}`)
        : undefined
      this.#known.set(name, { value: isBound ? secret.value : secret, hosts: bound })
    }
  }

  /** `{ secret: 'name', prefix: 'Bearer ' }` as a header to this URL. */
  async header(name: string, reference: unknown, url: URL): Promise<Header> {
    const fields = new Fields(`header '${name}'`, reference, secretReference)
    const secret = fields.get('secret')
    const prefix = fields.get('prefix') ?? ''
    const known = this.#known.get(secret)
    if (!known) {
      const message = `there is no secret '${secret}', which header '${name}' asks for. Give it in 'secrets' of the options.`
      throw refused('SECRET_UNKNOWN', message, { secret })
    }
    const host = hostOf(url)
    if (known.hosts && !known.hosts.includes(host)) {
      const message = `the secret '${secret}' is not for '${host}'. Add the host to 'hosts' of the secret if it should be.`
      throw refused('SECRET_REFUSED', message, { secret, host })
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
  throw refused('SECRET_UNKNOWN', `the ${what} is empty; expected a text.`)
}
