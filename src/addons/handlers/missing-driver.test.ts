// Where nodemailer is not installed, as far as an import can tell.
import { expect, test, vi } from 'vitest'
import { refusal, stepContext } from '../../../test/support/handlers.ts'
import { failureOf } from '../../core/base/failure.ts'
import { notifyEmail } from './notify-email.ts'

vi.mock('nodemailer', () => {
  throw new Error("Cannot find package 'nodemailer'")
})

test('A13: without nodemailer a mail says what to install, and is not tried again', async () => {
  const { handler } = notifyEmail({
    smtp: 'smtp://127.0.0.1:1',
    from: 'a@b.test',
    templates: { a: { subject: 'a', text: 'a' } },
  })
  const sent = handler({ template: 'a', to: 'a@b.test' }, stepContext())
  const failure = sent.catch(failureOf)
  const refused = await refusal(sent)
  expect(refused).toMatchObject({ code: 'DRIVER_MISSING' })
  expect(refused.message).toMatch(/Run: npm install nodemailer/)
  expect(await failure).toMatchObject({ retryable: false })
})
