// notify.email.v1: sends a mail that is rendered from a template.
import {
  byName,
  type Described,
  either,
  hidden,
  isObject,
  nested,
  option,
  required,
  spelled,
  text,
  whole,
} from '../../core/base/described.ts'
import { deriveUuid } from '../../core/base/digest.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { milliseconds } from '../../core/base/time.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { withDeadline } from './deadline.ts'
import {
  attachmentsOf,
  type EmailAddress,
  type EmailAttachment,
  type Mailbox,
  mailbox,
  mailboxesOf,
  mailboxOf,
} from './email-input.ts'
import { type CompiledTemplate, compileTemplate, emailTemplate, render } from './email-template.ts'
import { permanentError } from './errors.ts'
import { InputReader, nonEmptyText } from './input-reader.ts'
import { checkedName, commonOptions, handlerActivity, timeLimit } from './options.ts'
import { deliver, type SmtpServer, serverOf, smtpServer } from './smtp.ts'

export const emailOptions = {
  ...commonOptions,
  /** The mail server: 'smtps://user:password@host', or an object. */
  smtp: required(either(hidden(text('The mail server.')), nested('The mail server.', smtpServer))),
  from: required(either(text('The sender.'), nested('The sender.', mailbox))),
  /** Templates by name: `{ welcome: { subject: 'Hello {{ variables.name }}', text: '…', html: '…' } }`. */
  templates: required(
    byName(
      "Templates by name: `{ welcome: { subject: 'Hello {{ variables.name }}', text: '…' } }`.",
      'an object of templates',
      nested('', emailTemplate),
    ),
  ),
  /** How long sending a mail may take. Default: 1m. */
  timeout: timeLimit('How long sending a mail may take.', limits.mailTimeoutMs),
  /** The largest total size of the attachments of a mail. */
  maxAttachmentBytes: whole(
    'The largest total size of the attachments of a mail.',
    [0, limits.mailAttachmentBytesMax],
    { otherwise: spelled(limits.mailAttachmentBytesMax) },
  ),
} as const
export interface EmailOptions extends Described<typeof emailOptions> {}

export const emailInput = {
  template: required(nonEmptyText('The name of a template.')),
  to: required(
    option<string | EmailAddress | readonly (string | EmailAddress)[]>(
      'The recipients, at most 100. They see each other.',
      'an address, `{ name, address }`, or a list of them',
      (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
    ),
  ),
  variables: option<Readonly<Record<string, unknown>>>(
    'The variables of the template: strings, numbers and booleans, also inside objects.',
    'an object',
    isObject,
  ),
  attachments: option<readonly EmailAttachment[]>(
    'At most 20 files.',
    'a list of `{ filename, content, encoding, contentType }`',
    Array.isArray,
  ),
  /** Replaces the subject of the template. */
  subject: nonEmptyText('Replaces the subject of the template.'),
} as const
export interface EmailInput extends Described<typeof emailInput> {}

export interface EmailOutput {
  /** The same for every attempt. */
  readonly messageId: string
  readonly accepted: readonly string[]
  /** Recipients the server refused while it accepted others. */
  readonly rejected: readonly string[]
}

const NAME = 'notify.email.v1'

export function notifyEmail(options: EmailOptions): Activity<EmailInput, EmailOutput> {
  const name = checkedName(emailOptions, options, NAME)
  const mailer = new Mailer(options, name)
  return handlerActivity(name, options.activity, emailInput, (input: EmailInput, ctx) => mailer.send(input, ctx))
}

class Mailer {
  readonly #name: string
  readonly #server: SmtpServer
  readonly #from: Mailbox
  readonly #templates: ReadonlyMap<string, CompiledTemplate>
  readonly #timeoutMs: number
  readonly #attachmentBytesMax: number

  constructor(options: EmailOptions, name: string) {
    this.#name = name
    this.#server = serverOf(options.smtp, name)
    this.#from = senderOf(options.from, name)
    const templates = Object.entries(options.templates)
    this.#templates = new Map(templates.map(([key, each]) => [key, compileTemplate(key, each)]))
    this.#timeoutMs = milliseconds(options.timeout ?? limits.mailTimeoutMs)
    this.#attachmentBytesMax = options.maxAttachmentBytes ?? limits.mailAttachmentBytesMax
  }

  async send(input: unknown, ctx: ActivityContext): Promise<EmailOutput> {
    const what = `the input of '${this.#name}'`
    const fields = new InputReader(what, input, emailInput)
    const template = this.#templateOf(fields.get('template'))
    const variables = fields.get('variables') ?? {}
    const messageId = this.#messageId(ctx)
    const mail = {
      from: this.#from,
      to: mailboxesOf(fields.get('to'), fields.what),
      messageId,
      ...render(template, variables, fields.get('subject')),
      attachments: attachmentsOf(fields.get('attachments') ?? [], this.#attachmentBytesMax),
    }
    const sending = `the mail to ${this.#server.host}`
    const { accepted, rejected } = await withDeadline(this.#timeoutMs, ctx.signal, sending, (signal) =>
      deliver(this.#server, mail, this.#timeoutMs, signal),
    )
    return { messageId, accepted, rejected }
  }

  #templateOf(name: string): CompiledTemplate {
    const template = this.#templates.get(name)
    if (template) return template
    const names = [...this.#templates.keys()].join(', ') || 'none'
    const message = `there is no template '${name}'; expected one of: ${names}. Add it to 'templates' of the options.`
    throw permanentError('TEMPLATE_UNKNOWN', message, { template: name })
  }

  /** The same id for every attempt, so that a mailbox can recognise a duplicate. */
  #messageId({ idempotencyKey }: ActivityContext): string {
    const domain = this.#from.address.slice(this.#from.address.lastIndexOf('@') + 1)
    return `<${deriveUuid('pawl mail', idempotencyKey)}@${domain}>`
  }
}

function senderOf(from: EmailOptions['from'], name: string): Mailbox {
  try {
    return mailboxOf(from, `'from' of ${name}`)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new PawlError('DEFINITION_INVALID', message, { cause: error })
  }
}
