// Creates all built-in handlers from one options object.
import { checkOptions, type Description, either, nested, type Option, option } from '../../core/base/described.ts'
import type { AnyActivity } from '../../core/index.ts'
import { callExternalService, type HttpOptions, httpOptions } from './call-external-service.ts'
import { type LlmOptions, llmOptions, llmService } from './llm-service.ts'
import { type EmailOptions, emailOptions, notifyEmail } from './notify-email.ts'
import { notifyWebhook, type WebhookOptions, webhookOptions } from './notify-webhook.ts'

const orFalse = (about: string, inner: Description): Option<unknown> =>
  either(
    option<unknown>(about, 'false, which leaves it out', (value) => value === false),
    nested('', inner),
  )

export const handlersOptions: Description = {
  http: orFalse('Options of `call_external_service`.', httpOptions),
  llm: nested('Options of `llm_service`, which is left out without them.', llmOptions),
  webhook: orFalse('Options of `notify.webhook.v1`.', webhookOptions),
  email: nested('Options of `notify.email.v1`, which is left out without them.', emailOptions),
}
export interface HandlersOptions {
  /** Options of `call_external_service`; false leaves it out. */
  readonly http?: HttpOptions | false
  /** Options of `llm_service`, which is left out without them. */
  readonly llm?: LlmOptions
  /** Options of `notify.webhook.v1`; false leaves it out. */
  readonly webhook?: WebhookOptions | false
  /** Options of `notify.email.v1`, which is left out without them. */
  readonly email?: EmailOptions
}

/** Creates the handlers that these options configure: `open(url, { activities: [...handlers({ … })] })`. */
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
