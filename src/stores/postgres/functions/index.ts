// The functions of the Postgres store: each method of the seam is one call, one round trip and one flush of the log.
// They are volatile, so every statement inside sees what was committed before it began. The rules rely on it: locks
// first, then a look, then the write. They are in plpgsql, which keeps plans; plain SQL functions are planned anew in
// every transaction, which takes longer than what they do.
import { claim, claimed } from './claim.ts'
import { commit } from './commit.ts'
import { begin, create, lanes, post } from './create.ts'
import { records } from './records.ts'
import { settle } from './settle.ts'

/** Tests hand in their own time; everybody else asks the server. */
const clock = `
create or replace function {schema}.clock(p_now int8) returns int8 language sql volatile as $$
  select coalesce(p_now, floor(extract(epoch from clock_timestamp()) * 1000)::int8)
$$;`

export function functions(schema: string): string {
  const parts = [clock, lanes, claimed, begin, create, post, claim, commit, settle, records]
  return parts.join('\n').replaceAll('{schema}', schema)
}
