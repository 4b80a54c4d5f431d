// notify.email.v1: a mail from a template.
import { type Activity, activity } from '../definitions/activity.ts'
import type { ActivityContext } from '../definitions/contract.ts'
import { deriveUuid } from '../kernel/digest.ts'
import type { Duration } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { limits } from '../kernel/limits.ts'
import { within } from './deadline.ts'
import {
  attachmentsOf,
  type EmailAddress,
  type EmailAttachment,
  type Mailbox,
  mailboxesOf,
  mailboxOf,
} from './email-input.ts'
import {
  type CompiledTemplate,
  compileTemplate,
  type EmailTemplate,
  render,
} from './email-template.ts'
import { Fields, timeoutMs } from './fields.ts'
import { checkedSize, type HandlerOptions } from './options.ts'
import { refused } from './refusals.ts'
import { deliver, type SmtpServer, serverOf } from './smtp.ts'

export interface EmailOptions extends HandlerOptions {
  /** 'smtps://user:password@host', or the same as an object. */
  readonly smtp: string | SmtpServer
  readonly from: string | EmailAddress
  /** By name: `{ welcome: { subject: 'Hello {{ variables.name }}', text: '…', html: '…' } }`. */
  readonly templates: Readonly<Record<string, EmailTemplate>>
  /** 1m */
  readonly timeout?: Duration
  /** Of all attachments of a mail together. */
  readonly maxAttachmentBytes?: number
}

export interface EmailInput {
  readonly template: string
  readonly to: string | EmailAddress | readonly (string | EmailAddress)[]
  readonly variables?: Readonly<Record<string, unknown>>
  readonly attachments?: readonly EmailAttachment[]
  /** Instead of the template's. */
  readonly subject?: string
}

export interface EmailOutput {
  /** The same for every attempt. */
  readonly messageId: string
  readonly accepted: readonly string[]
  /** Refused by the server, while it took the mail for others. */
  readonly rejected: readonly string[]
}

const NAME = 'notify.email.v1'

export function notifyEmail(options: EmailOptions): Activity<EmailInput, EmailOutput> {
  const name = options.name ?? NAME
  const mailer = new Mailer(options, name)
  return activity(name, options.activity ?? {}, (input: EmailInput, ctx) => mailer.send(input, ctx))
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
    this.#timeoutMs = timeoutMs(options.timeout ?? limits.mailTimeoutMs, `'timeout' of ${name}`)
    const max = limits.mailAttachmentBytesMax
    const asked = options.maxAttachmentBytes ?? max
    this.#attachmentBytesMax = checkedSize(asked, `'maxAttachmentBytes' of ${name}`, max)
  }

  async send(input: unknown, ctx: ActivityContext): Promise<EmailOutput> {
    const what = `the input of '${this.#name}'`
    const known = ['template', 'to', 'variables', 'attachments', 'subject']
    const fields = new Fields(what, input, known)
    const template = this.#templateOf(fields.text('template'))
    const variables = fields.optionalPlain('variables') ?? {}
    const messageId = this.#messageId(ctx)
    const mail = {
      from: this.#from,
      to: mailboxesOf(fields),
      messageId,
      ...render(template, variables, fields.optionalText('subject')),
      attachments: attachmentsOf(fields, this.#attachmentBytesMax),
    }
    const sending = `the mail to ${this.#server.host}`
    const { accepted, rejected } = await within(this.#timeoutMs, ctx.signal, sending, (signal) =>
      deliver(this.#server, mail, this.#timeoutMs, signal),
    )
    return { messageId, accepted, rejected }
  }

  #templateOf(name: string): CompiledTemplate {
    const template = this.#templates.get(name)
    if (template) return template
    const names = [...this.#templates.keys()].join(', ') || 'none'
    const message = `there is no template '${name}'; there are: ${names}. Give it in 'templates' of the options.`
    throw refused('TEMPLATE_UNKNOWN', message, { template: name })
  }

  /** A mailbox that gets it twice can tell. */
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
