// Recipients and attachments of a mail. Both are untrusted input: an address must be a single address without headers,
// and the content of an attachment must be in the input, never in a file or behind a URL.
import { defined } from '../../core/base/defined.ts'
import { choice, type Described, isObject, required, text } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { permanentError } from './errors.ts'
import { InputReader, invalidField, nonEmptyText } from './input-reader.ts'

export const mailbox = {
  name: nonEmptyText('The display name.'),
  address: required(nonEmptyText("`'ada@example.com'`")),
} as const
export interface EmailAddress extends Described<typeof mailbox> {}

const attachment = {
  filename: required(nonEmptyText('The name of the file.')),
  content: required(text('The content of the file.')),
  /** The encoding of `content`. Default: 'utf8'. */
  encoding: choice('The encoding of `content`.', ['utf8', 'base64'], { otherwise: "'utf8'" }),
  contentType: nonEmptyText("The media type, such as `'text/csv'`."),
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
  throw permanentError(
    'INPUT_INVALID',
    `'to' of ${what} has ${all.length} addresses; expected 1 to ${limits.mailRecipientsMax}.`,
  )
}

// Without comments, quotes, lists and routes: stricter than the standard, but it matches the addresses in actual use.
const ADDRESS = /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u

export function mailboxOf(given: unknown, what: string): Mailbox {
  const fields = isObject(given) ? new InputReader(what, given, mailbox) : undefined
  const address = fields ? fields.get('address') : given
  const name = fields?.get('name') ?? ''
  const isValid = typeof address === 'string' && address.length <= limits.mailAddressLengthMax
  if (!isValid || !ADDRESS.test(address)) {
    throw invalidField(what, given, "an address such as 'ada@example.com', or { name, address }")
  }
  if (/\p{Cc}/u.test(name)) throw invalidField(`the name in ${what}`, name, 'one line of text')
  return { name, address }
}

export function attachmentsOf(given: readonly unknown[], bytesMax: number): AttachedFile[] {
  if (given.length > limits.mailAttachmentsMax) {
    const message = `there are ${given.length} attachments; the limit is ${limits.mailAttachmentsMax}. Send fewer, or put links into the mail.`
    throw permanentError('ATTACHMENT_REFUSED', message)
  }
  const files = given.map((each, index) => fileOf(each, `attachments[${index}]`))
  const bytes = files.reduce((sum, { content }) => sum + content.byteLength, 0)
  if (bytes <= bytesMax) return files
  const message = `the attachments have ${bytes} bytes; the limit is ${bytesMax}. Put a link into the mail instead.`
  throw permanentError('ATTACHMENT_REFUSED', message)
}

function fileOf(given: unknown, what: string): AttachedFile {
  const unknown = isObject(given) ? Object.keys(given).filter((key) => !Object.hasOwn(attachment, key)) : []
  if (unknown.length > 0) {
    const message = `${what} has an unknown field '${unknown[0]?.slice(0, 50)}'; expected filename, content, encoding and contentType. Files and URLs are not fetched: pass the content.`
    throw permanentError('ATTACHMENT_REFUSED', message.toWellFormed())
  }
  const fields = new InputReader(what, given, attachment)
  const filename = fields.get('filename')
  if (filename.length > limits.nameLengthMax || /[\p{Cc}/\\]/u.test(filename)) {
    throw permanentError(
      'ATTACHMENT_REFUSED',
      `'filename' of ${what} is not a file name; expected one without slashes and control characters, of at most ${limits.nameLengthMax} characters.`,
    )
  }
  const contentType = fields.get('contentType')
  if (contentType !== undefined && !/^[\w.+-]+\/[\w.+-]+$/.test(contentType)) {
    throw permanentError(
      'ATTACHMENT_REFUSED',
      `'contentType' of ${what} is not a media type; expected one such as 'text/csv'.`,
    )
  }
  const content = contentOf(fields)
  return defined({ filename, content, contentType })
}

function contentOf(fields: InputReader<typeof attachment>): Buffer {
  const content = fields.get('content')
  if (fields.get('encoding') !== 'base64') return Buffer.from(content)
  if (/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content)) return Buffer.from(content, 'base64')
  throw permanentError(
    'ATTACHMENT_REFUSED',
    `'content' of ${fields.what} is not base64. Encode it, or leave out 'encoding'.`,
  )
}
