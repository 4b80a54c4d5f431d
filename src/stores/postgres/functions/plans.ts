// Tables are small at first and large later, and plans are kept. So the planner is told to use indexes whatever it
// knows about sizes, and in their order, because a bitmap would be made of all due rows to find the first. That makes
// some plans look expensive, and expensive plans would be compiled, which takes far longer than running them. Functions
// that only other functions call inherit the settings.

/** Ways to run a query that are best for small tables, or for many rows. */
export const FOR_MANY_ROWS = [
  'enable_seqscan',
  'enable_hashjoin',
  'enable_mergejoin',
  'enable_bitmapscan',
  'enable_material',
] as const

export const PLANS = `${FOR_MANY_ROWS.map((way) => `set ${way} = off`).join(' ')}
  set plan_cache_mode = force_generic_plan set jit = off`
