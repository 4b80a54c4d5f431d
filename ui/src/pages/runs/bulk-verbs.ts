/** What can be done to many runs at once. */
export const bulkVerbs = ['pause', 'resume', 'retry', 'cancel', 'terminate'] as const
export type BulkVerb = (typeof bulkVerbs)[number]
