// Sends a mail over SMTP with nodemailer. The socket is opened here, so that it can be aborted.
import { connect, type Socket } from 'node:net'
import type * as nodemailer from 'nodemailer'
import { type Described, flag, hidden, isObject, option, required, text, whole } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { permanentError, retryableError } from './errors.ts'
import { nonEmptyText } from './input-reader.ts'

export const smtpServer = {
  host: required(nonEmptyText('The host name of the server.')),
  /** The port of the server. Default: 465 if `secure`, else 587. */
  port: whole('The port of the server.', [1, 65_535], { otherwise: '465 if `secure`, else 587' }),
  /** Uses TLS from the first byte; otherwise the connection is upgraded with STARTTLS. Default: false. */
  secure: flag('Uses TLS from the first byte; otherwise the connection is upgraded with STARTTLS.', {
    otherwise: 'false',
  }),
  /** Refuses a server that offers no TLS. Default: true. */
  requireTls: flag('Refuses a server that offers no TLS.', { otherwise: 'true' }),
  user: text('The user name to log in with.'),
  password: hidden(text('The password to log in with.')),
  /** Options of Node's TLS, such as a certificate authority of your own. */
  tls: hidden(
    option<Readonly<Record<string, unknown>>>(
      "Options of Node's TLS, such as a certificate authority of your own.",
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

/** Reads `smtps://user:password@host:465`, or `smtp:` for a connection that is upgraded with STARTTLS. */
export function serverOf(given: string | SmtpServer, what: string): SmtpServer {
  const server = typeof given === 'string' ? serverOfUrl(given) : given
  if (server && server.host !== '') return server
  const message = `'smtp' of ${what} is not a server; expected 'smtps://user:password@host', or { host, port, secure, user, password }.`
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
    // A path or a URL in a mail is never opened.
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

/** Nodemailer's codes for an invalid mail. Any other failure without a status of the server is temporary. */
const invalidMail: ReadonlySet<unknown> = new Set(['EENVELOPE', 'EMESSAGE', 'EFILEACCESS', 'ECONFIG'])

function mailError(error: unknown, host: string): Error {
  const { code, responseCode: status } = error as { code?: unknown; responseCode?: unknown }
  const why = error instanceof Error ? error.message : String(error)
  const details = typeof status === 'number' ? { status } : {}
  const isFinal = typeof status === 'number' ? status >= 500 : invalidMail.has(code)
  if (isFinal) return permanentError('MAIL_REFUSED', `${host} permanentError the mail: ${why}`, details, error)
  const message = `${host} could not accept the mail now: ${why}`
  return retryableError('MAIL_DEFERRED', message, { details, cause: error })
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
