// A real SMTP server on this machine, with STARTTLS and the certificate of the tests. It keeps the mails it receives.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'
import { certificate, certificateKey } from './certificate.ts'

export interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly source: string
  readonly secure: boolean
}

export interface MailServer {
  readonly port: number
  readonly received: readonly Received[]
}

export async function serveMail(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: Received[] = []
  const server = new SMTPServer({
    cert: certificate,
    key: certificateKey,
    authOptional: true,
    logger: false,
    onData(stream, session, callback) {
      text(stream).then((source) => {
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        received.push({
          from,
          to: rcptTo.map(({ address }) => address),
          source,
          secure: session.secure,
        })
        callback()
      }, callback)
    },
    ...options,
  })
  // A broken connection to a client is no error of the test.
  server.on('error', () => {})
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (listening.address() as AddressInfo).port, received }
}

/** An SMTP reply with this code. */
export function answer(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
