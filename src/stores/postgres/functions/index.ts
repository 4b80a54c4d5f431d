// The functions of the Postgres store: each method of the seam is one call, one round trip and one flush of the log.
// They are volatile, so every statement inside sees what was committed before it started. The rules rely on it: first a
// lock, then a look, then the write. They are in plpgsql, which keeps plans; plain SQL functions are planned anew in
// every transaction, which takes longer than running them.
//
// Their names end with a digest of all of them, so that every process calls the functions it was built with, whatever
// other releases of pawl use the same tables.
import { digest } from '../../../core/base/digest.ts'
import { migrations } from '../schema.ts'
import { claim } from './claim.ts'
import { claimed } from './claimed.ts'
import { commit } from './commit.ts'
import { begin, create, lanes, post } from './create.ts'
import { purge } from './purge.ts'
import { records } from './records.ts'
import { settle } from './settle.ts'
import { streams } from './streams.ts'
import { transaction } from './transaction.ts'

/** The server's time, unless a test hands in its own. */
const clock = `
create or replace function {schema}.clock(p_now int8) returns int8 language sql volatile as $$
  select coalesce(p_now, floor(extract(epoch from clock_timestamp()) * 1000)::int8)
$$;`

const parts = [
  ...[clock, transaction, lanes, claimed, begin, create, post, streams, claim, commit, settle, purge],
  records,
]
const source = parts.join('\n')
const named = new Set([...source.matchAll(/create or replace function \{schema\}\.(\w+)\(/g)].map(([, name]) => name))

/** Names the functions of this release. The same functions over other tables are other functions. */
export const release: string = digest(`${migrations.length}\n${source}`).slice(0, 12)

/** The name under which a function of this release is installed. */
export function nameOf(schema: string, name: string): string {
  return `${schema}.${name}_${release}`
}

export function functions(schema: string): string {
  return source
    .replaceAll(/\{schema\}\.(\w+)\(/g, (whole, name: string) => (named.has(name) ? `${nameOf(schema, name)}(` : whole))
    .replaceAll('{schema}', schema)
    .replaceAll('{release}', release)
}
