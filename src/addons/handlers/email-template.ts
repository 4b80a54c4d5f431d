// Mail templates: text with `{{ variables.path }}`. An inserted value is escaped for HTML where needed and not scanned
// again, so that it cannot insert another variable.
import { type Described, isObject, required } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { permanentError } from './errors.ts'
import { nonEmptyText, type PlainObject } from './input-reader.ts'

export const emailTemplate = {
  subject: required(nonEmptyText('The subject, one line.')),
  text: required(nonEmptyText('The body as plain text.')),
  html: nonEmptyText('The body as HTML, sent beside the text.'),
} as const
export interface EmailTemplate extends Described<typeof emailTemplate> {}

/** Pieces of text with the path of a variable between each two. */
interface Pattern {
  readonly pieces: readonly string[]
  readonly paths: readonly (readonly string[])[]
}

export interface CompiledTemplate {
  readonly name: string
  readonly subject: Pattern
  readonly text: Pattern
  readonly html?: Pattern
}

export interface RenderedMail {
  readonly subject: string
  readonly text: string
  readonly html?: string
}

export function compileTemplate(name: string, template: EmailTemplate): CompiledTemplate {
  const { subject, text, html } = template
  return {
    name,
    subject: compile(subject, `'subject' of template '${name}'`),
    text: compile(text, `'text' of template '${name}'`),
    ...(html !== undefined && { html: compile(html, `'html' of template '${name}'`) }),
  }
}

const PLACE = /\{\{\s*variables((?:\.[A-Za-z_$][\w$]*)+)\s*\}\}/g

function compile(source: string, what: string): Pattern {
  const pieces: string[] = []
  const paths: string[][] = []
  let end = 0
  for (const match of source.matchAll(PLACE)) {
    pieces.push(source.slice(end, match.index))
    paths.push((match[1] ?? '').slice(1).split('.'))
    end = match.index + match[0].length
  }
  pieces.push(source.slice(end))
  const stray = pieces.find((piece) => piece.includes('{{'))
  if (stray === undefined) return { pieces, paths }
  const near = stray.slice(stray.indexOf('{{')).slice(0, 40)
  const message = `${what} has '${near}', which is not a variable; expected {{ variables.name }}.`
  throw new PawlError('DEFINITION_INVALID', message)
}

/** `subject`, if given, replaces the subject of the template and is not scanned for variables. */
export function render(template: CompiledTemplate, variables: PlainObject, subject: string | undefined): RenderedMail {
  const fill = (pattern: Pattern, escape: (text: string) => string): string =>
    fillIn(pattern, (path) => escape(variableAt(variables, path, template.name)))
  const mail = {
    subject: oneLine(subject ?? fill(template.subject, same)),
    text: fill(template.text, same),
    ...(template.html && { html: fill(template.html, escapeHtml) }),
  }
  checkSizes(mail, template.name)
  return mail
}

function fillIn({ pieces, paths }: Pattern, valueOf: (path: readonly string[]) => string): string {
  return pieces.map((piece, index) => piece + valueAt(paths[index], valueOf)).join('')
}

function valueAt(path: readonly string[] | undefined, valueOf: (path: readonly string[]) => string): string {
  return path === undefined ? '' : valueOf(path)
}

function variableAt(variables: PlainObject, path: readonly string[], template: string): string {
  let value: unknown = variables
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const name = path.join('.')
  const found = value === undefined ? 'missing' : 'not a string, number or boolean'
  const message = `template '${template}' needs variables.${name}, which is ${found}. Pass it in 'variables' of the input.`
  throw permanentError('VARIABLE_MISSING', message, { template, variable: name })
}

function same(text: string): string {
  return text
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? '')
}

/** A header is one line, so line breaks and other control characters become spaces. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

function checkSizes({ subject, text, html = '' }: RenderedMail, template: string): void {
  if (subject.length > limits.mailSubjectLengthMax) {
    const message = `the subject of template '${template}' has ${subject.length} characters; the limit is ${limits.mailSubjectLengthMax}. Shorten it.`
    throw permanentError('MAIL_TOO_LARGE', message)
  }
  const bytes = Buffer.byteLength(text) + Buffer.byteLength(html)
  if (bytes <= limits.mailBodyBytesMax) return
  const message = `template '${template}' renders a mail of ${bytes} bytes; the limit is ${limits.mailBodyBytesMax}. Shorten it, or link to the content.`
  throw permanentError('MAIL_TOO_LARGE', message)
}
