// Every rule of the seam, in its plainest form, over the rows of a store.
export * from './claim.ts'
export * from './commit.ts'
export * from './create.ts'
export * from './post.ts'
export * from './purge.ts'
export * from './records.ts'
export * from './session.ts'
export * from './settle.ts'
