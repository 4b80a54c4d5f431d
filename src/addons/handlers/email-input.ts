// Recipients and attachments of a mail. Both are data from outside: an address is one address and no list or header, and
// what is attached is in the input itself, never in a file or behind a URL.
import { choice, type Described, isObject, required, text } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { Fields, filled, wrong } from './fields.ts'
import { refused } from './refusals.ts'

export const mailbox = {
  name: filled('Whose it is.'),
  address: required(filled("`'ada@example.com'`")),
} as const
export interface EmailAddress extends Described<typeof mailbox> {}

const attachment = {
  filename: required(filled('Its name.')),
  content: required(text('What is in it.')),
  /** How `content` is written. 'utf8' */
  encoding: choice('How `content` is written.', ['utf8', 'base64'], { otherwise: "'utf8'" }),
  contentType: filled("What it is: `'text/csv'`."),
} as const
export interface EmailAttachment extends Described<typeof attachment> {}

export interface Mailbox {
  readonly name: string
  readonly address: string
}

export interface AttachedFile {
  readonly filename: string
  readonly content: Buffer
  readonly contentType?: string
}

export function mailboxesOf(given: unknown, what: string): Mailbox[] {
  const all: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (all.length > 0 && all.length <= limits.mailRecipientsMax) {
    return all.map((each) => mailboxOf(each, `'to' of ${what}`))
  }
  throw refused(
    'INPUT_INVALID',
    `'to' of ${what} has ${all.length} addresses; expected 1 to ${limits.mailRecipientsMax}.`,
  )
}

// No comments, no quotes, no lists, no routes. It is narrower than the standard, and nobody's address is wider.
const ADDRESS = /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u

export function mailboxOf(given: unknown, what: string): Mailbox {
  const fields = isObject(given) ? new Fields(what, given, mailbox) : undefined
  const address = fields ? fields.get('address') : given
  const name = fields?.get('name') ?? ''
  const isFit = typeof address === 'string' && address.length <= limits.mailAddressLengthMax
  if (!isFit || !ADDRESS.test(address)) {
    throw wrong(what, given, "an address such as 'ada@example.com', or { name, address }")
  }
  if (/\p{Cc}/u.test(name)) throw wrong(`the name in ${what}`, name, 'one line of text')
  return { name, address }
}

export function attachmentsOf(given: readonly unknown[], bytesMax: number): AttachedFile[] {
  if (given.length > limits.mailAttachmentsMax) {
    const message = `there are ${given.length} attachments, at most ${limits.mailAttachmentsMax} are possible.`
    throw refused('ATTACHMENT_REFUSED', message)
  }
  const files = given.map((each, index) => fileOf(each, `attachments[${index}]`))
  const bytes = files.reduce((sum, { content }) => sum + content.byteLength, 0)
  if (bytes <= bytesMax) return files
  const message = `the attachments have ${bytes} bytes, at most ${bytesMax} are possible. Put a link into the mail instead.`
  throw refused('ATTACHMENT_REFUSED', message)
}

function fileOf(given: unknown, what: string): AttachedFile {
  const strange = isObject(given)
    ? Object.keys(given).filter((key) => !Object.hasOwn(attachment, key))
    : []
  if (strange.length > 0) {
    const message = `${what} has '${strange[0]?.slice(0, 50)}'. Files and URLs are not fetched: give filename, content, and perhaps encoding and contentType.`
    throw refused('ATTACHMENT_REFUSED', message.toWellFormed())
  }
  const fields = new Fields(what, given, attachment)
  const filename = fields.get('filename')
  if (filename.length > limits.nameLengthMax || /[\p{Cc}/\\]/u.test(filename)) {
    throw refused('ATTACHMENT_REFUSED', `'filename' of ${what} is not the name of a file.`)
  }
  const contentType = fields.get('contentType')
  if (contentType !== undefined && !/^[\w.+-]+\/[\w.+-]+$/.test(contentType)) {
    throw refused('ATTACHMENT_REFUSED', `'contentType' of ${what} is not one; expected 'text/csv'.`)
  }
  const content = contentOf(fields)
  return { filename, content, ...(contentType !== undefined && { contentType }) }
}

function contentOf(fields: Fields<typeof attachment>): Buffer {
  const content = fields.get('content')
  if (fields.get('encoding') !== 'base64') return Buffer.from(content)
  if (/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content)) return Buffer.from(content, 'base64')
  throw refused('ATTACHMENT_REFUSED', `'content' of ${fields.what} is not base64.`)
}
