// All built-in handlers at once.
import type { AnyActivity } from '../definitions/activity.ts'
import {
  checkOptions,
  type Described,
  either,
  nested,
  type Option,
  option,
} from '../kernel/described.ts'
import { callExternalService, httpOptions } from './call-external-service.ts'
import { llmOptions, llmService } from './llm-service.ts'
import { emailOptions, notifyEmail } from './notify-email.ts'
import { notifyWebhook, webhookOptions } from './notify-webhook.ts'

const orNone = <T>(about: string, inner: Option<T>): Option<T | false> =>
  either(
    option<false>(about, 'false, which leaves it out', (value) => value === false),
    inner,
  )

export const handlersOptions = {
  /** call_external_service; false leaves it out. */
  http: orNone('Of `call_external_service`.', nested('', httpOptions)),
  /** llm_service; there is none without. */
  llm: nested('Of `llm_service`; there is none without.', llmOptions),
  /** notify.webhook.v1; false leaves it out. */
  webhook: orNone('Of `notify.webhook.v1`.', nested('', webhookOptions)),
  /** notify.email.v1; there is none without. */
  email: nested('Of `notify.email.v1`; there is none without.', emailOptions),
} as const
export interface HandlersOptions extends Described<typeof handlersOptions> {}

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
