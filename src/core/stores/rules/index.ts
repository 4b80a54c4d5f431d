// Every rule of the seam, in its plainest form, over the rows of a store.
export { claim, idleClaim } from './claim.ts'
export { commit, type Send } from './commit.ts'
export { create } from './create.ts'
export { deliver } from './outbox.ts'
export { post } from './post.ts'
export { operate } from './records.ts'
export { renew } from './session.ts'
export { note, settle } from './settle.ts'
