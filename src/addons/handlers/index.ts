/**
 * `pawl/handlers`: ready-made activities for HTTP, language models, webhooks and mail.
 *
 * Stable: an exported name changes incompatibly only in a minor version before 1.0, and only in a major version after.
 *
 * @packageDocumentation
 */

export type { CallInput, CallOutput, HttpOptions } from './call-external-service.ts'
export { callExternalService } from './call-external-service.ts'
export type { EmailAddress, EmailAttachment } from './email-input.ts'
export type { EmailTemplate } from './email-template.ts'
export type { HandlerRefusal, HandlerTrouble } from './errors.ts'
export type { GuardOptions, Lookup } from './guard.ts'
export { type HandlersOptions, handlers } from './handlers.ts'
export type { CompletionUsage } from './llm-response.ts'
export type { LlmInput, LlmMessage, LlmOptions, LlmOutput, ModelPrice } from './llm-service.ts'
export { llmService } from './llm-service.ts'
export type { EmailInput, EmailOptions, EmailOutput } from './notify-email.ts'
export { notifyEmail } from './notify-email.ts'
export type { WebhookInput, WebhookOptions, WebhookOutput } from './notify-webhook.ts'
export { notifyWebhook } from './notify-webhook.ts'
export type { HandlerOptions } from './options.ts'
export type { Secret, SecretValue } from './secrets.ts'
export type { SmtpServer } from './smtp.ts'
export type { VerifiedWebhook, VerifyOptions, WebhookSecret } from './webhook-signature.ts'
export { verifyWebhook } from './webhook-signature.ts'
