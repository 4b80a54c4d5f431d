// Hands a mail to a server over SMTP, by nodemailer. The connection is made here, so that it can be cut off.
import { connect, type Socket } from 'node:net'
import type * as nodemailer from 'nodemailer'
import {
  type Described,
  flag,
  hidden,
  isObject,
  option,
  required,
  text,
  whole,
} from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { filled } from './fields.ts'
import { refused, troubled } from './refusals.ts'

export const smtpServer = {
  host: required(filled('Its name.')),
  /** 465 if secure, else 587. */
  port: whole('Its port.', [1, 65_535], { otherwise: '465 if secure, else 587' }),
  /** TLS from the first byte. Otherwise the connection is upgraded by STARTTLS. */
  secure: flag('TLS from the first byte, and not by STARTTLS.', { otherwise: 'false' }),
  /** Whether a server that offers no TLS is refused. true */
  requireTls: flag('Refuses a server that offers no TLS.', { otherwise: 'true' }),
  user: text('Who logs in.'),
  password: hidden(text('With what.')),
  /** What Node's TLS takes, for a certificate of your own. */
  tls: hidden(
    option<Readonly<Record<string, unknown>>>(
      "What Node's TLS takes, for a certificate of your own.",
      'an object',
      isObject,
    ),
  ),
} as const
export interface SmtpServer extends Described<typeof smtpServer> {}

export interface Mail {
  readonly from: unknown
  readonly to: unknown
  readonly [field: string]: unknown
}

export interface Delivery {
  readonly accepted: readonly string[]
  readonly rejected: readonly string[]
}

/** `smtps://user:password@host:465`, or `smtp:`, which is upgraded. */
export function serverOf(given: string | SmtpServer, what: string): SmtpServer {
  const server = typeof given === 'string' ? serverOfUrl(given) : given
  if (server && server.host !== '') return server
  const message = `'smtp' of ${what} cannot be used; expected 'smtps://user:password@host', or { host, port, secure, user, password }.`
  throw new PawlError('DEFINITION_INVALID', message)
}

function serverOfUrl(text: string): SmtpServer | undefined {
  const url = URL.parse(text)
  if (!url || !/^smtps?:$/.test(url.protocol) || url.search !== '') return undefined
  const { username, password } = url
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    secure: url.protocol === 'smtps:',
    ...(url.port !== '' && { port: Number(url.port) }),
    ...(username !== '' && { user: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  }
}

type Callback = (error: Error | null, socket?: { readonly connection: Socket }) => void

export async function deliver(
  server: SmtpServer,
  mail: Mail,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Delivery> {
  const { createTransport } = await loadDriver()
  const { host, secure = false, port = secure ? 465 : 587, requireTls = true } = server
  const { user, password, tls } = server
  const getSocket = (_options: unknown, callback: Callback): void => {
    const connection = connect({ host, port, signal })
    const failed = (error: Error): void => callback(error)
    connection.once('error', failed)
    connection.once('connect', () => {
      connection.off('error', failed)
      callback(null, { connection })
    })
  }
  const options = {
    ...{ host, port, secure, getSocket },
    requireTLS: requireTls && !secure,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // Neither a path nor a URL in a mail is ever opened.
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    ...(tls && { tls }),
  }
  try {
    const transport = createTransport(options as nodemailer.SMTPTransportOptions)
    const sent = await transport.sendMail(mail as nodemailer.SendMailOptions)
    return { accepted: addresses(sent.accepted), rejected: addresses(sent.rejected) }
  } catch (error) {
    throw mailError(error, host)
  }
}

/** Without an answer of the server it did not come so far, unless nodemailer says that the mail was wrong. */
const wrongMail: ReadonlySet<unknown> = new Set(['EENVELOPE', 'EMESSAGE', 'EFILEACCESS', 'ECONFIG'])

function mailError(error: unknown, host: string): Error {
  const { code, responseCode: status } = error as { code?: unknown; responseCode?: unknown }
  const why = error instanceof Error ? error.message : String(error)
  const details = typeof status === 'number' ? { status } : {}
  const isFinal = typeof status === 'number' ? status >= 500 : wrongMail.has(code)
  if (isFinal) return refused('MAIL_REFUSED', `${host} refused the mail: ${why}`, details, error)
  const message = `${host} could not take the mail now: ${why}`
  return troubled('MAIL_DEFERRED', message, { details, cause: error })
}

function addresses(given: readonly unknown[] | undefined): string[] {
  return (given ?? []).map((each) =>
    typeof each === 'string' ? each : String((each as { address?: unknown }).address),
  )
}

async function loadDriver(): Promise<typeof nodemailer> {
  try {
    return await import('nodemailer')
  } catch (error) {
    throw new PawlError(
      'DRIVER_MISSING',
      "notify.email.v1 needs the package 'nodemailer'. Run: npm install nodemailer",
      { cause: error },
    )
  }
}
