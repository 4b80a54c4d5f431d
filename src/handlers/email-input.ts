// Recipients and attachments of a mail. Both are data from outside: an address is one address and no list or header, and
// what is attached is in the input itself, never in a file or behind a URL.
import { limits } from '../kernel/limits.ts'
import { Fields, isPlain, wrong } from './fields.ts'
import { refused } from './refusals.ts'

export interface EmailAddress {
  readonly name?: string
  readonly address: string
}

export interface EmailAttachment {
  readonly filename: string
  readonly content: string
  /** How `content` is written. 'utf8' */
  readonly encoding?: 'utf8' | 'base64'
  readonly contentType?: string
}

export interface Mailbox {
  readonly name: string
  readonly address: string
}

export interface AttachedFile {
  readonly filename: string
  readonly content: Buffer
  readonly contentType?: string
}

export function mailboxesOf(fields: Fields): Mailbox[] {
  const given = fields.get('to')
  const all: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (all.length > 0 && all.length <= limits.mailRecipientsMax) {
    return all.map((each) => mailboxOf(each, `'to' of ${fields.what}`))
  }
  throw refused(
    'INPUT_INVALID',
    `'to' of ${fields.what} has ${all.length} addresses; expected 1 to ${limits.mailRecipientsMax}.`,
  )
}

// No comments, no quotes, no lists, no routes. It is narrower than the standard, and nobody's address is wider.
const ADDRESS = /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u

export function mailboxOf(given: unknown, what: string): Mailbox {
  const fields = isPlain(given) ? new Fields(what, given, ['name', 'address']) : undefined
  const address = fields ? fields.text('address') : given
  const name = fields?.optionalText('name') ?? ''
  const isFit = typeof address === 'string' && address.length <= limits.mailAddressLengthMax
  if (!isFit || !ADDRESS.test(address)) {
    throw wrong(what, given, "an address such as 'ada@example.com', or { name, address }")
  }
  if (/\p{Cc}/u.test(name)) throw wrong(`the name in ${what}`, name, 'one line of text')
  return { name, address }
}

export function attachmentsOf(fields: Fields, bytesMax: number): AttachedFile[] {
  const given = fields.optionalList('attachments') ?? []
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

const known = ['filename', 'content', 'encoding', 'contentType']

function fileOf(given: unknown, what: string): AttachedFile {
  const strange = isPlain(given) ? Object.keys(given).filter((key) => !known.includes(key)) : []
  if (strange.length > 0) {
    const message = `${what} has '${strange[0]?.slice(0, 50)}'. Files and URLs are not fetched: give filename, content, and perhaps encoding and contentType.`
    throw refused('ATTACHMENT_REFUSED', message.toWellFormed())
  }
  const fields = new Fields(what, given, known)
  const filename = fields.text('filename')
  if (filename.length > limits.nameLengthMax || /[\p{Cc}/\\]/u.test(filename)) {
    throw refused('ATTACHMENT_REFUSED', `'filename' of ${what} is not the name of a file.`)
  }
  const contentType = fields.optionalText('contentType')
  if (contentType !== undefined && !/^[\w.+-]+\/[\w.+-]+$/.test(contentType)) {
    throw refused('ATTACHMENT_REFUSED', `'contentType' of ${what} is not one; expected 'text/csv'.`)
  }
  const content = contentOf(fields)
  return { filename, content, ...(contentType !== undefined && { contentType }) }
}

function contentOf(fields: Fields): Buffer {
  const content = fields.get('content')
  if (typeof content !== 'string') throw fields.wrong('content', 'a text')
  const encoding = fields.optionalText('encoding') ?? 'utf8'
  if (encoding === 'utf8') return Buffer.from(content)
  if (encoding !== 'base64') throw fields.wrong('encoding', "'utf8' or 'base64'")
  if (/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content)) return Buffer.from(content, 'base64')
  throw refused('ATTACHMENT_REFUSED', `'content' of ${fields.what} is not base64.`)
}
