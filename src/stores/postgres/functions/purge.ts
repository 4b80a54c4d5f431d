// Deletes runs that have ended.
import { DURABLE, PLANS } from './transaction.ts'

/** Tables that have rows of a run under its id. */
const TABLES = [
  ...['run', 'closed', 'turn', 'inbox', 'task', 'note', 'attribute', 'attribute_item'],
  ...['stream', 'stream_part', 'stream_batch'],
]

export const purge = `
create or replace function {schema}.purge(p_now int8, p_runs uuid[], p_ended int8[]) returns json
language plpgsql ${PLANS} as $$
declare v_free uuid[]; v_gone uuid[]; v_there uuid[]; v_names text[];
begin
  ${DURABLE}
  -- A retry of a run that has ended takes the same lock. One that is faster keeps the run.
  v_free := array(select r from unnest(p_runs) as u(r)
    where pg_try_advisory_xact_lock(hashtextextended('{schema}:' || r::text, 0)));
  v_there := array(select run_id from {schema}.run where run_id = any(p_runs));
  v_gone := array(select c.run_id from unnest(p_runs, p_ended) as u(r, e)
    join {schema}.closed c on c.run_id = u.r join {schema}.run on run.run_id = u.r
    where c.closed_at = u.e and u.r = any(v_free) and c.status <> 'moved'
      and not exists (select 1 from {schema}.live
        where live.run_id = run.parent_id and live.generation = run.parent_generation));
  with gone as (delete from {schema}.name using {schema}.run
    where run.run_id = any(v_gone) and name.workflow_id = run.workflow_id and name.run_id = run.run_id
    returning name.workflow_id)
  select array_agg(workflow_id) into v_names from gone;
  ${TABLES.map((table) => `delete from {schema}.${table} where run_id = any(v_gone);`).join('\n  ')}
  -- Runs of the same workflow id may be left.
  if v_names is not null then
    insert into {schema}.name (workflow_id, run_id) select distinct on (workflow_id) workflow_id, run_id from {schema}.run
      where workflow_id = any(v_names) order by workflow_id, created_at desc, run_id desc on conflict do nothing;
  end if;
  return (select coalesce(json_agg(case when r = any(v_gone) then 'purged' when r = any(v_there) then 'kept' else 'missing' end
    order by n), '[]') from unnest(p_runs) with ordinality as u(r, n));
end $$;`
