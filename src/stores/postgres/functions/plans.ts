// Tables are small at first and large later, and plans are kept: the planner is told to use indexes whatever it
// believes about sizes, and in their order, since a bitmap would be made of all that is due to find the first. That makes
// some plans look dear, and dear plans would be compiled, which takes far longer than running them. Functions that only
// others call have it from their callers.

export const PLANS = `set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_bitmapscan = off set enable_material = off set plan_cache_mode = force_generic_plan set jit = off`
