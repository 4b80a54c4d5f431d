import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { certificate } from '../../../test/support/certificate.ts'
import { refusal, stepContext } from '../../../test/support/handlers.ts'
import { answer, serveMail } from '../../../test/support/smtp.ts'
import { limits } from '../../core/base/limits.ts'
import { type EmailInput, type EmailOptions, notifyEmail } from './notify-email.ts'

const templates = {
  welcome: {
    subject: 'Hello {{ variables.name }}',
    text: 'Dear {{variables.name}}, your order {{ variables.order.id }} costs {{ variables.order.cents }}.',
    html: '<p>Dear {{ variables.name }}</p>',
  },
  plain: { subject: 'News', text: 'There is news.' },
}

async function mailer(server: SMTPServerOptions = {}, options: Partial<EmailOptions> = {}) {
  const { port, received } = await serveMail(server)
  const handler = notifyEmail({
    smtp: { host: '127.0.0.1', port, tls: { ca: certificate } },
    from: { name: 'The Shop', address: 'shop@example.com' },
    templates,
    ...options,
  }).handler
  const send = (input: EmailInput, context = stepContext()) => handler(input, context)
  return { send, received, port }
}

const ada = { template: 'plain', to: 'ada@example.com' } as const

describe('A13: notify.email.v1 sends', () => {
  test('a template with its variables, over TLS, with an id that is the same for every attempt', async () => {
    const { send, received } = await mailer()
    const variables = { name: 'Ada <b> & "Co"', order: { id: 'A1', cents: 1999 } }
    const input = {
      template: 'welcome',
      to: ['ada@example.com', { name: 'Bo', address: 'bo@example.com' }],
      variables,
    }
    const first = await send(input)
    const second = await send(input, stepContext({ attempt: 2 }))
    const other = await send(input, stepContext({ idempotencyKey: 'else' }))
    expect(first).toEqual({
      messageId: expect.stringMatching(/^<[0-9a-f-]{36}@example\.com>$/) as string,
      accepted: ['ada@example.com', 'bo@example.com'],
      rejected: [],
    })
    expect(second.messageId).toBe(first.messageId)
    expect(other.messageId).not.toBe(first.messageId)
    const [mail] = received
    expect(mail).toMatchObject({ from: 'shop@example.com', to: first.accepted, secure: true })
    expect(mail?.source).toContain(`Message-ID: ${first.messageId}`)
    expect(mail?.source).toContain('From: The Shop <shop@example.com>')
    expect(mail?.source).toContain('Subject: =?UTF-8?Q?Hello_Ada_=3Cb=3E_=26_=22Co=22?=')
    const unfolded = mail?.source.replaceAll('=\r\n', '')
    expect(unfolded).toContain('Dear Ada <b> & "Co", your order A1 costs 1999.')
    expect(unfolded).toContain('<p>Dear Ada &lt;b&gt; &amp; &quot;Co&quot;</p>')
  })

  test('with a subject of its own, attachments, and a login', async () => {
    const logins: unknown[] = []
    const { send, received, port } = await mailer(
      {
        authOptional: false,
        onAuth: ({ username, password }, _session, callback) => {
          logins.push([username, password])
          callback(null, { user: username ?? '' })
        },
      },
      {},
    )
    expect(await refusal(send(ada))).toMatchObject({ kind: 'permanent', code: 'MAIL_REFUSED' })
    const withLogin = notifyEmail({
      smtp: { host: '127.0.0.1', port, user: 'shop', password: 'p@ss', tls: { ca: certificate } },
      from: 'shop@example.com',
      templates,
    })
    const attachments = [
      { filename: 'a.csv', content: 'x;y\n1;2', contentType: 'text/csv' },
      { filename: 'b.bin', content: 'iVD/', encoding: 'base64' },
    ] as const
    await withLogin.handler({ ...ada, subject: 'Mine {{ variables.x }}', attachments }, stepContext())
    expect(logins).toEqual([['shop', 'p@ss']])
    const source = received[0]?.source ?? ''
    expect(source).toContain('Subject: Mine {{ variables.x }}')
    expect(source).toContain(Buffer.from('x;y\n1;2').toString('base64'))
    expect(source).toContain('filename=b.bin')
    expect(source).toContain('iVD/')
  })

  test('what comes in variables begins no header and no other variable', async () => {
    const { send, received } = await mailer()
    const name = 'Ada\r\nBcc: victim@example.com\r\n\r\n{{ variables.order.id }}'
    await send({
      template: 'welcome',
      to: ada.to,
      variables: { name, order: { id: 'A1', cents: 1 } },
    })
    const [mail] = received
    const head = mail?.source.split('\r\n\r\n')[0] ?? ''
    expect(mail?.to).toEqual(['ada@example.com'])
    expect(head).not.toMatch(/^Bcc:/im)
    expect(head.replaceAll('\r\n ', ' ')).toContain(
      'Subject: Hello Ada Bcc: victim@example.com {{ variables.order.id }}',
    )
  })
})

describe('A13: notify.email.v1 is refused', () => {
  const rcpt =
    (errors: Readonly<Record<string, Error>>): NonNullable<SMTPServerOptions['onRcptTo']> =>
    ({ address }, _session, callback) =>
      callback(errors[address])

  test('4xx is tried again, 5xx is not', async () => {
    const later = await mailer({ onRcptTo: rcpt({ [ada.to]: answer(450, 'mailbox busy') }) })
    expect(await refusal(later.send(ada))).toMatchObject({
      kind: 'retryable',
      code: 'MAIL_DEFERRED',
      details: { status: 450 },
    })
    const never = await mailer({ onRcptTo: rcpt({ [ada.to]: answer(550, 'no such user') }) })
    expect(await refusal(never.send(ada))).toMatchObject({
      kind: 'permanent',
      code: 'MAIL_REFUSED',
      details: { status: 550 },
    })
    const full = await mailer({
      onData: (stream, _session, callback) => {
        stream.resume().on('end', () => callback(answer(452, 'no space')))
      },
    })
    expect(await refusal(full.send(ada))).toMatchObject({
      details: { status: 452 },
      kind: 'retryable',
    })
  })

  test('for some of those it is for: the others have it, and it is told', async () => {
    const { send } = await mailer({ onRcptTo: rcpt({ 'bo@example.com': answer(550, 'no') }) })
    expect(await send({ ...ada, to: [ada.to, 'bo@example.com'] })).toMatchObject({
      accepted: [ada.to],
      rejected: ['bo@example.com'],
    })
  })

  test('a server without TLS, or with a certificate nobody vouches for, gets nothing', async () => {
    const open = await mailer({ disabledCommands: ['STARTTLS'] })
    expect(await refusal(open.send(ada))).toMatchObject({
      kind: 'permanent',
      code: 'MAIL_REFUSED',
    })
    const { port, received } = await serveMail()
    const unknown = notifyEmail({ smtp: `smtp://127.0.0.1:${port}`, from: 'a@b.test', templates })
    expect(await refusal(unknown.handler(ada, stepContext()))).toMatchObject({
      code: 'MAIL_DEFERRED',
    })
    expect([...open.received, ...received]).toEqual([])
    const smtp = { host: '127.0.0.1', port: open.port, requireTls: false }
    const plain = notifyEmail({ smtp, from: 'a@b.test', templates })
    await plain.handler(ada, stepContext())
    expect(open.received).toMatchObject([{ secure: false }])
  })

  test('a server that says nothing, and a cancelled step, close the connection', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as { port: number }
    const smtp = `smtp://127.0.0.1:${port}`
    const handler = (timeout: '80ms' | '1m') => notifyEmail({ smtp, from: 'a@b.test', templates, timeout }).handler
    expect(await refusal(handler('80ms')(ada, stepContext()))).toMatchObject({
      kind: 'retryable',
      code: 'TIMED_OUT',
    })
    const stop = new AbortController()
    silent.once('connection', () => stop.abort(new Error('cancelled')))
    await expect(handler('1m')(ada, stepContext({ signal: stop.signal }))).rejects.toThrow('cancelled')
    expect(sockets.length).toBe(2)
    for (const socket of sockets) if (!socket.destroyed) await once(socket.resume(), 'close')
    silent.close()
    await once(silent, 'close')
    expect(await refusal(handler('1m')(ada, stepContext()))).toMatchObject({
      kind: 'retryable',
      code: 'MAIL_DEFERRED',
    })
  })
})

const wrong: readonly (readonly [string, object, string, RegExp])[] = [
  ['no such template', { template: 'other' }, 'TEMPLATE_UNKNOWN', /expected one of: welcome, plain/],
  ['inherited', { template: 'toString' }, 'TEMPLATE_UNKNOWN', /no template 'toString'/],
  [
    'a variable is missing',
    { template: 'welcome', variables: { name: 'A' } },
    'VARIABLE_MISSING',
    /variables.order.id, which is missing/,
  ],
  [
    'a variable is inherited',
    { template: 'proto', variables: Object.create({ constructor: { name: 'x' } }) as object },
    'VARIABLE_MISSING',
    /variables.constructor.name/,
  ],
  [
    'a variable is an object',
    { template: 'welcome', variables: { name: {} } },
    'VARIABLE_MISSING',
    /not a string, number or boolean/,
  ],
  ['nobody to send to', { to: [] }, 'INPUT_INVALID', /has 0 addresses/],
  ['too many', { to: new Array(limits.mailRecipientsMax + 1).fill('a@b.c') }, 'INPUT_INVALID', /has 101/],
  ['no address', { to: 'ada' }, 'INPUT_INVALID', /an address such as/],
  ['two in one', { to: 'a@b.test, c@d.test' }, 'INPUT_INVALID', /an address such as/],
  ['a header in it', { to: 'a@b.test\r\nBcc: c@d.test' }, 'INPUT_INVALID', /an address such as/],
  ['a route in it', { to: 'Ada <a@b.test>' }, 'INPUT_INVALID', /an address such as/],
  ['a header in the name', { to: { name: 'A\nBcc: c@d.test', address: 'a@b.test' } }, 'INPUT_INVALID', /one line/],
  [
    'a path',
    { attachments: [{ filename: 'a', path: '/etc/passwd' }] },
    'ATTACHMENT_REFUSED',
    /Files and URLs are not fetched/,
  ],
  [
    'a URL',
    { attachments: [{ filename: 'a', content: 'x', href: 'http://a' }] },
    'ATTACHMENT_REFUSED',
    /unknown field 'href'/,
  ],
  [
    'a path as content',
    { attachments: [{ filename: 'a', content: { path: '/etc/passwd' } }] },
    'INPUT_INVALID',
    /`content` of attachments\[0\] is an object/,
  ],
  [
    'a name that is a path',
    { attachments: [{ filename: '../a', content: 'x' }] },
    'ATTACHMENT_REFUSED',
    /not a file name/,
  ],
  [
    'a type that is none',
    { attachments: [{ filename: 'a', content: 'x', contentType: 'a/b\r\nX: 1' }] },
    'ATTACHMENT_REFUSED',
    /expected one such as 'text\/csv'/,
  ],
  [
    'no base64',
    { attachments: [{ filename: 'a', content: '%%%', encoding: 'base64' }] },
    'ATTACHMENT_REFUSED',
    /is not base64/,
  ],
  [
    'too large',
    { attachments: [{ filename: 'a', content: 'x'.repeat(101) }] },
    'ATTACHMENT_REFUSED',
    /have 101 bytes; the limit is 100/,
  ],
  [
    'too many files',
    { attachments: new Array(21).fill({ filename: 'a', content: '' }) },
    'ATTACHMENT_REFUSED',
    /there are 21/,
  ],
  ['a subject without end', { subject: 'x'.repeat(501) }, 'MAIL_TOO_LARGE', /has 501 characters/],
  [
    'a text without end',
    { template: 'echo', variables: { x: 'x'.repeat(600_000) } },
    'MAIL_TOO_LARGE',
    /1200000 bytes/,
  ],
  ['a name nobody knows', { cc: 'a@b.test' }, 'INPUT_INVALID', /unknown field `cc`/],
]

test.each(wrong)('A13: the input of a mail is checked: %s', async (_name, input, code, message) => {
  const more = {
    ...templates,
    proto: { subject: 'x', text: '{{ variables.constructor.name }}' },
    echo: { subject: 'x', text: '{{ variables.x }}{{ variables.x }}' },
  }
  const { send, received } = await mailer({}, { templates: more, maxAttachmentBytes: 100 })
  const refused = await refusal(send({ ...ada, ...input }))
  expect(refused).toMatchObject({ kind: 'permanent', code })
  expect(refused.message).toMatch(message)
  expect(received).toEqual([])
})

test('A13: options of mails that cannot be are refused at once', () => {
  const good: EmailOptions = { smtp: 'smtps://a:b@mail.test', from: 'a@b.test', templates }
  notifyEmail(good)
  const bad: Partial<EmailOptions>[] = [
    { smtp: 'http://mail.test' },
    { smtp: { host: '' } },
    { from: 'nobody' },
    { templates: { a: { subject: '', text: 'x' } } },
    { templates: { a: { subject: 'x', text: '{{ name }}' } } },
    { templates: { a: { subject: 'x', text: 'x', html: '{{#each variables.x}}' } } },
    { maxAttachmentBytes: limits.mailAttachmentBytesMax + 1 },
  ]
  for (const options of bad) {
    expect(() => notifyEmail({ ...good, ...options })).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
  }
})
