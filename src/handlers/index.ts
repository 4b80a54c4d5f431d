// What users import from 'pawl/handlers': activities that are ready to use, by functions and by graphs that are data.
import type { AnyActivity } from '../definitions/activity.ts'
import { callExternalService, type HttpOptions } from './call-external-service.ts'
import { type LlmOptions, llmService } from './llm-service.ts'
import { type EmailOptions, notifyEmail } from './notify-email.ts'
import { notifyWebhook, type WebhookOptions } from './notify-webhook.ts'

export type { CallInput, CallOutput, HttpOptions } from './call-external-service.ts'
export { callExternalService } from './call-external-service.ts'
export type { EmailAddress, EmailAttachment } from './email-input.ts'
export type { EmailTemplate } from './email-template.ts'
export type { GuardOptions, Lookup } from './guard.ts'
export type { CompletionUsage } from './llm-answer.ts'
export type { LlmInput, LlmMessage, LlmOptions, LlmOutput, ModelPrice } from './llm-service.ts'
export { llmService } from './llm-service.ts'
export type { EmailInput, EmailOptions, EmailOutput } from './notify-email.ts'
export { notifyEmail } from './notify-email.ts'
export type { WebhookInput, WebhookOptions, WebhookOutput } from './notify-webhook.ts'
export { notifyWebhook } from './notify-webhook.ts'
export type { HandlerOptions } from './options.ts'
export type { HandlerRefusal, HandlerTrouble } from './refusals.ts'
export type { Secret, SecretValue } from './secrets.ts'
export type { SmtpServer } from './smtp.ts'
export type { VerifiedWebhook, VerifyOptions, WebhookSecret } from './webhook-signature.ts'
export { verifyWebhook } from './webhook-signature.ts'

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
export function handlers({
  http = {},
  llm,
  webhook = {},
  email,
}: HandlersOptions = {}): AnyActivity[] {
  return [
    ...(http === false ? [] : [callExternalService(http)]),
    ...(llm ? [llmService(llm)] : []),
    ...(webhook === false ? [] : [notifyWebhook(webhook)]),
    ...(email ? [notifyEmail(email)] : []),
  ]
}
