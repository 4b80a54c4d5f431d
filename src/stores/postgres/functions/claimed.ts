// What a claim returns about granted runs. As arrays, because the names of the columns would be most of the answer.
import { PLANS } from './transaction.ts'

/** In the order of the values in an answer. */
export const CLAIMED = {
  run_id: 'run.run_id',
  name: 'l.name',
  queue: 'l.queue',
  priority: 'l.priority',
  workflow_id: 'run.workflow_id',
  parent_id: 'run.parent_id',
  parent_generation: 'run.parent_generation',
  parent_key: 'run.parent_key',
  created_at: 'run.created_at',
  input: 'run.input',
  extras: 'run.extras',
  generation: 'live.generation',
  session: 'live.session',
  epoch: 'live.epoch',
  nonce: 'live.nonce',
  deliveries: 'live.deliveries',
  seq: 'live.seq',
  turn_id: 'live.turn_id',
} as const

export const claimed = `
-- Messages are apart, under the ids of their runs, because most runs have none.
create or replace function {schema}.claimed(p_runs uuid[]) returns json language plpgsql ${PLANS} as $$
begin
  return json_build_object(
    'runs', (select coalesce(json_agg(json_build_array(${Object.values(CLAIMED).join(', ')})), '[]')
      from unnest(p_runs) as wanted(run_id) join {schema}.live on live.run_id = wanted.run_id
        join {schema}.run on run.run_id = wanted.run_id join {schema}.lane l on l.lane = run.lane),
    'messages', (select json_object_agg(run_id, messages) from (
      select run_id, json_agg(json_build_object('id', message_id, 'body', body) order by id) as messages
      from {schema}.inbox where run_id = any(p_runs) group by run_id) unread));
end $$;`
