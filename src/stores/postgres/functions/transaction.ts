// What every transaction of the store is like: its isolation, how long it waits for locks, and whether its end waits for
// the disk. Said by the functions and not by the connection, so that no option of a URL, role, database or pooler says
// otherwise. Mostly all is as it should be, which one condition finds out without a query of its own.
import { limits } from '../../../core/base/limits.ts'

const IS_LAX = `current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`

/**
 * Begins a function whose answer says that something is durable. It takes part in a promise, so it waits for the disk,
 * here and on synchronous standbys, whatever is usual; and no less than usual, since remote_apply waits for more.
 */
export const DURABLE = `if current_setting('transaction_isolation') <> 'read committed' or ${IS_LAX}
    or current_setting('lock_timeout') <> '${limits.lockMsMax / 1_000}s' then
    perform {schema}.own_transaction(), {schema}.durable();
  end if;`

/** The same in a transaction that may be the caller's, where the isolation is theirs. */
export const DURABLE_ANYWHERE = `if ${IS_LAX} then perform {schema}.durable(); end if;`

/**
 * Begins a function that grants leases or extends them. Nothing rests on a grant but turns, and a turn that is durable
 * makes all before it durable, since the log is one; a grant that is lost with the server is fenced by its nonce.
 */
export const PASSING = `perform {schema}.own_transaction(), set_config('synchronous_commit', 'off', true);`

/** Behind these, where several elements travel together: one that is locked must not hold up the others for long. */
export function togetherWait(count: string): string {
  return `if ${count} > 1 then perform set_config('lock_timeout', '${limits.lockInBatchMsMax}', true); end if;`
}

export const transaction = `
-- A message is never lost because whoever looks for it has locked the run first, and looks afterwards. In repeatable read
-- the look would be at what was there before the lock. What creates runs does not rest on it: in a caller's transaction
-- of any level it succeeds, or fails with 40001 as all else in it. Nobody waits for a lock for ever; the caller hears of it.
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
