// The settings of every transaction of the store: its isolation, how long it waits for locks, and whether its end waits
// for the disk. The functions set them and not the connection, so that no option of a URL, role, database or pooler
// changes them. Usually nothing needs to be set, which one condition finds out without a query of its own.

import { limits } from '../../../core/base/limits.ts'

const IS_LAX = `current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`

/**
 * The start of a function whose answer promises that something is durable. It waits for the disk, here and on
 * synchronous standbys, whatever the default is; and no less than the default, because remote_apply waits for more.
 */
export const DURABLE = `if current_setting('transaction_isolation') <> 'read committed' or ${IS_LAX}
    or current_setting('lock_timeout') <> '${limits.lockMsMax / 1_000}s' then
    perform {schema}.own_transaction(), {schema}.durable();
  end if;`

/** The same in a transaction that may be the caller's, who decides its isolation. */
export const DURABLE_ANYWHERE = `if ${IS_LAX} then perform {schema}.durable(); end if;`

/**
 * The start of a function that grants leases or extends them. Only turns depend on a grant, and a durable turn makes
 * all writes before it durable, because there is one log. A grant that is lost with the server is fenced by its nonce.
 */
export const PASSING = `perform {schema}.own_transaction(), set_config('synchronous_commit', 'off', true);`

/** Follows these where several elements travel together: one whose row is locked must not delay the others for long. */
export function togetherWait(count: string): string {
  return `if ${count} > 1 then perform set_config('lock_timeout', '${limits.lockInBatchMsMax}', true); end if;`
}

export const transaction = `
-- No message is lost, because a function that looks for messages locks the run first and looks afterwards. In
-- repeatable read it would see the state before the lock. Creating runs does not depend on it: in a caller's
-- transaction of any level it succeeds, or fails with 40001 like all else. No function waits for a lock for ever; the
-- caller gets an error.
create or replace function {schema}.own_transaction() returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'pawl needs transactions in read committed, and this one is in %. Run: alter role % set default_transaction_isolation = ''read committed''',
      current_setting('transaction_isolation'), current_user using errcode = '55000';
  end if;
  perform set_config('lock_timeout', '${limits.lockMsMax}', true);
end $$;

create or replace function {schema}.durable() returns void language plpgsql as $$
begin
  if ${IS_LAX} then perform set_config('synchronous_commit', 'on', true); end if;
end $$;`

/** The end of a dead session whose rows could not all be freed, because another transaction had locked some. */
export const DEAD = 0

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
