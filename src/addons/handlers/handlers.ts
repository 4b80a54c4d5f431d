// All built-in handlers at once.

import {
  checkOptions,
  type Description,
  either,
  nested,
  type Option,
  option,
} from '../../core/base/described.ts'
import type { AnyActivity } from '../../core/index.ts'
import { callExternalService, type HttpOptions, httpOptions } from './call-external-service.ts'
import { type LlmOptions, llmOptions, llmService } from './llm-service.ts'
import { type EmailOptions, emailOptions, notifyEmail } from './notify-email.ts'
import { notifyWebhook, type WebhookOptions, webhookOptions } from './notify-webhook.ts'

const orNone = (about: string, inner: Description): Option<unknown> =>
  either(
    option<unknown>(about, 'false, which leaves it out', (value) => value === false),
    nested('', inner),
  )

export const handlersOptions: Description = {
  http: orNone('Of `call_external_service`.', httpOptions),
  llm: nested('Of `llm_service`; there is none without.', llmOptions),
  webhook: orNone('Of `notify.webhook.v1`.', webhookOptions),
  email: nested('Of `notify.email.v1`; there is none without.', emailOptions),
}
export interface HandlersOptions {
  /** call_external_service; false leaves it out. */
  readonly http?: HttpOptions | false
  /** llm_service; there is none without. */
  readonly llm?: LlmOptions
  /** notify.webhook.v1; false leaves it out. */
  readonly webhook?: WebhookOptions | false
  /** notify.email.v1; there is none without. */
  readonly email?: EmailOptions
}

/** All that can be had with these options: `open(url, { activities: [...handlers({ … })] })`. */
export function handlers(options: HandlersOptions = {}): AnyActivity[] {
  checkOptions(handlersOptions, options, { of: 'handlers', code: 'DEFINITION_INVALID' })
  const { http = {}, llm, webhook = {}, email } = options
  return [
    ...(http === false ? [] : [callExternalService(http)]),
    ...(llm ? [llmService(llm)] : []),
    ...(webhook === false ? [] : [notifyWebhook(webhook)]),
    ...(email ? [notifyEmail(email)] : []),
  ]
}
