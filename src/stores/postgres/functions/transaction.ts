// What every transaction of the store is like: its isolation, and whether its end waits for the disk. Said by the
// functions and not by the connection, so that no option of a URL, role, database or pooler says otherwise.
import { limits } from '../../../kernel/limits.ts'

/**
 * First statement of a function whose answer says that something is durable. It takes part in a promise, so it waits for
 * the disk, whatever is usual here; and no less than usual.
 */
export const DURABLE = `perform {schema}.own_transaction(), {schema}.durable();`

/** The same in a transaction that may be the caller's, where the isolation is theirs. */
export const DURABLE_ANYWHERE = `perform {schema}.durable();`

/**
 * First statement of a function that grants leases or extends them. Nothing rests on a grant but turns, and a turn that is
 * durable makes all before it durable, since the log is one; a grant that is lost with the server is fenced by its nonce.
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

-- Of those that wait for less than a flush here and on synchronous standbys. remote_apply waits for more.
create or replace function {schema}.durable() returns void language plpgsql as $$
begin
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;`
