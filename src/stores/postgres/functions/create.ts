// Creates runs, and accepts messages.
import { limits } from '../../../core/base/limits.ts'
import { rankInSql } from '../../../core/stores/driver.ts'
import { DEAD, DURABLE, DURABLE_ANYWHERE, PLANS, togetherWait } from './transaction.ts'

export const lanes = `
create or replace function {schema}.lane_of(p_kind text, p_queue text, p_name text, p_priority int4)
returns int4 language plpgsql as $$
declare v_lane int4;
begin
  select lane into v_lane from {schema}.lane
    where kind = p_kind and queue = p_queue and name = p_name and priority = p_priority;
  if found then return v_lane; end if;
  insert into {schema}.lane (kind, queue, name, priority) values (p_kind, p_queue, p_name, p_priority)
    on conflict do nothing;
  select lane into v_lane from {schema}.lane
    where kind = p_kind and queue = p_queue and name = p_name and priority = p_priority;
  return v_lane;
end $$;

-- In the claim order.
create or replace function {schema}.lanes_of(p_kind text, p_queues json, p_names json, p_nonce int8)
returns int4[] language plpgsql as $$
begin
  return (select coalesce(array_agg(lane order by ${rankInSql('p_nonce')}), '{}')
    from {schema}.lane
    where kind = p_kind and queue in (select json_array_elements_text(p_queues))
      and (json_typeof(p_names) = 'null' or name in (select json_array_elements_text(p_names))));
end $$;`

export const begin = `
-- Stores the first turn of a generation, and forgets what the run no longer needs.
create or replace function {schema}.begin_generation(p_run uuid, p_generation int4, p_epoch int4, p json)
returns void language plpgsql as $$
begin
  insert into {schema}.turn (run_id, generation, seq, count, turn_id, epoch, body)
    values (p_run, p_generation, 0, (p->>'count')::int4, (p->>'turnId')::int8, p_epoch, p->>'body');
  delete from {schema}.turn where run_id = p_run and generation <= p_generation - ${limits.generationsKept};
  delete from {schema}.note where run_id = p_run;
end $$;

-- An attribute with a kind is a value, one with items is a list, one with neither is removed.
create or replace function {schema}.set_attributes(p_run uuid, p json) returns void language plpgsql as $$
begin
  delete from {schema}.attribute_item where run_id = p_run
    and name in (select value->>'name' from json_array_elements(p));
  delete from {schema}.attribute where run_id = p_run
    and name in (select value->>'name' from json_array_elements(p) where value->>'kind' is null);
  insert into {schema}.attribute_item select p_run, a.name, i.place, i.text
    from json_to_recordset(p) as a(name text, items json),
      json_array_elements_text(a.items) with ordinality as i(text, place);
  insert into {schema}.attribute select p_run, a.name, a.kind, a.text, a.number
    from json_to_recordset(p) as a(name text, kind text, text text, number float8) where a.kind is not null
    on conflict (run_id, name) do update set kind = excluded.kind, text = excluded.text, number = excluded.number;
end $$;

-- A run that has ended, or is paused, continues as its next generation, from the history it is given.
create or replace function {schema}.start_again(p_now int8, r json) returns json language plpgsql as $$
declare
  v_run uuid := (r->>'runId')::uuid; v_generation int4 := (r->>'generation')::int4;
  v_live {schema}.live%rowtype; v_closed {schema}.closed%rowtype; v_lane int4; v_is int4; v_epoch int4;
begin
  -- Two calls for one run must see each other, and a run that has ended has no row to lock.
  perform pg_advisory_xact_lock(hashtextextended('{schema}:' || v_run::text, 0));
  select lane into v_lane from {schema}.run where run_id = v_run;
  select * into v_live from {schema}.live where run_id = v_run for no key update;
  select * into v_closed from {schema}.closed where run_id = v_run;
  v_is := coalesce(v_live.generation, v_closed.generation);
  v_epoch := coalesce(v_live.epoch, v_closed.epoch);
  if v_is >= v_generation then
    return json_build_object('outcome', case when exists (select 1 from {schema}.turn where run_id = v_run
      and generation = v_generation and seq = 0 and turn_id = (r->'past'->>'turnId')::int8)
      then 'existing' else 'conflict' end, 'runId', v_run);
  end if;
  if v_is is null or v_is <> v_generation - 1 or r->'past' is null or v_closed.status = 'moved' or (v_live.run_id is not null
      and (v_live.session <> 0 or v_live.parked_build is null)) then
    return json_build_object('outcome', 'refused', 'runId', v_run);
  end if;
  delete from {schema}.task where run_id = v_run;
  if v_live.run_id is not null then
    -- Updated and not replaced, so that a post that waits for the row finds it afterwards.
    update {schema}.live set lane = v_lane, at = p_now, start_at = p_now, nonce = 0, deliveries = 0, status = 'pending',
      generation = v_generation, seq = (r->'past'->>'count')::int4, turn_id = (r->'past'->>'turnId')::int8,
      updated_at = greatest(updated_at, p_now), parked_build = null, parked_failure = null, compensating = false,
      reason = null
      where run_id = v_run;
  else
    insert into {schema}.turn (run_id, generation, seq, count, turn_id, epoch, body)
      select run_id, generation, seq, count, turn_id, epoch, body from {schema}.closed
      where run_id = v_run and count > 0;
    delete from {schema}.closed where run_id = v_run;
    insert into {schema}.live (run_id, lane, at, start_at, epoch, generation, seq, turn_id, updated_at, pin)
      values (v_run, v_lane, p_now, p_now, v_epoch, v_generation, (r->'past'->>'count')::int4,
        (r->'past'->>'turnId')::int8, greatest(v_closed.closed_at, p_now), v_closed.pin);
  end if;
  perform {schema}.begin_generation(v_run, v_generation, v_epoch, r->'past');
  if r->'attributes' is not null then perform {schema}.set_attributes(v_run, r->'attributes'); end if;
  return json_build_object('outcome', 'created', 'mine', false);
end $$;

-- The answer about an existing run, and what became of a message that came with the start.
create or replace function {schema}.existing(p_now int8, p_run uuid, r json) returns json language plpgsql as $$
declare v_posted json;
begin
  if r->'message' is not null then
    v_posted := {schema}.deliver(p_now, p_run, r->'message'->>'id', r->'message'->>'body', false, false);
  end if;
  return json_build_object('outcome', 'existing', 'runId', p_run, 'posted', v_posted->>'outcome', 'postedTo', v_posted->'session',
    'mine', p_run = (r->>'runId')::uuid and exists (select 1 from {schema}.live where run_id = p_run
      and session = (r->'eager'->>'session')::int8 and nonce = (r->'eager'->>'nonce')::int8));
end $$;`

export const create = `
-- The newest run of a workflow id. A run without a name is called by its id, and that name is not stored.
create or replace function {schema}.newest(p_name text) returns uuid language plpgsql as $$
declare v_run uuid;
begin
  select run_id into v_run from {schema}.name where workflow_id = p_name;
  if not found and p_name ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    select run_id into v_run from {schema}.run where run_id = p_name::uuid and workflow_id is null;
  end if;
  return v_run;
end $$;

create or replace function {schema}.create_run(p_now int8, r json) returns json language plpgsql as $$
declare
  v_run uuid := (r->>'runId')::uuid;
  v_there {schema}.run%rowtype;
  v_name text := nullif(r->>'workflowId', r->>'runId');
  v_latest uuid; v_status text; v_lane int4; v_start int8; v_eager boolean := false; v_posted json; v_alongside uuid;
  v_seq int4 := coalesce((r->'past'->>'count')::int4, 0); v_turn int8 := coalesce((r->'past'->>'turnId')::int8, 0);
begin
  if (r->>'generation')::int4 > 1 then return {schema}.start_again(p_now, r); end if;
  select * into v_there from {schema}.run where run_id = v_run;
  if found then
    if v_there.digest <> r->>'digest' then return json_build_object('outcome', 'conflict'); end if;
    return {schema}.existing(p_now, v_run, r);
  end if;
  if v_name is not null then
    if r->>'reuse' <> 'allow' then
      -- Two starts of one workflow id must see each other.
      perform pg_advisory_xact_lock(hashtextextended('{schema}:' || v_name, 0));
      v_latest := {schema}.newest(v_name);
      select status into v_status from {schema}.closed where run_id = v_latest;
      if v_status is null and r->'message' is not null then
        -- The run must not end before the message is posted; if it just has, another one starts.
        perform 1 from {schema}.live where run_id = v_latest for no key update;
        if not found then select status into v_status from {schema}.closed where run_id = v_latest; end if;
      end if;
      if v_latest is not null then
        -- It may be in progress where it went.
        if v_status = 'moved' then return json_build_object('outcome', 'refused', 'runId', v_latest); end if;
        if r->>'reuse' = 'returnExisting' and v_status is null then
          return {schema}.existing(p_now, v_latest, r);
        elsif r->>'reuse' = 'terminateRunning' and v_status is null and r->'displaced' is not null then
          v_posted := {schema}.deliver(p_now, v_latest, r->'displaced'->>'id', r->'displaced'->>'body', true, false);
        elsif r->>'reuse' = 'reject' or (r->>'reuse' = 'allowIfEnded' and v_status is null)
            or (r->>'reuse' = 'allowIfFailed' and coalesce(v_status = 'completed', true)) then
          return json_build_object('outcome', 'refused', 'runId', v_latest);
        end if;
      end if;
    else
      select run_id into v_alongside from {schema}.live where run_id = {schema}.newest(v_name);
    end if;
  end if;
  v_lane := {schema}.lane_of('run', r->>'queue', r->>'name', (r->>'priority')::int4);
  insert into {schema}.run values (v_run, v_lane, v_name, (r->'parent'->>'runId')::uuid,
    (r->'parent'->>'generation')::int4, r->'parent'->>'key', p_now, r->>'digest', r->>'input', r->>'extras')
    on conflict do nothing;
  -- Another call created it between the look and the insert: look again, now it exists.
  if not found then return {schema}.create_run(p_now, r); end if;
  if v_name is not null then
    insert into {schema}.name values (v_name, v_run)
      on conflict (workflow_id) do update set run_id = excluded.run_id;
  end if;
  v_start := coalesce((r->>'startAt')::int8, p_now + coalesce((r->>'delayMs')::int8, 0));
  if r->'eager' is not null and v_start <= p_now then
    perform 1 from {schema}.session where session = (r->'eager'->>'session')::int8 and expires_at > ${DEAD} and latest >= p_now
      for key share;
    v_eager := found;
  end if;
  if v_eager then
    insert into {schema}.live (run_id, lane, at, start_at, session, epoch, nonce, deliveries, status, seq, turn_id,
        updated_at)
      values (v_run, v_lane, greatest(v_start, p_now), v_start, (r->'eager'->>'session')::int8, 1, (r->'eager'->>'nonce')::int8, 1,
        'running', v_seq, v_turn, p_now);
  else
    insert into {schema}.live (run_id, lane, at, start_at, seq, turn_id, updated_at)
      values (v_run, v_lane, greatest(v_start, p_now), v_start, v_seq, v_turn, p_now);
  end if;
  if r->'past' is not null then perform {schema}.begin_generation(v_run, 1, 0, r->'past'); end if;
  if r->'attributes' is not null then perform {schema}.set_attributes(v_run, r->'attributes'); end if;
  if r->'message' is not null then
    insert into {schema}.inbox (run_id, message_id, body) values (v_run, r->'message'->>'id', r->'message'->>'body');
  end if;
  return json_build_object('outcome', 'created', 'mine', v_eager, 'postedTo', v_posted->'session', 'alongside', v_alongside);
end $$;

-- p_wait is null in a transaction of the caller.
create or replace function {schema}.create_runs(p_now int8, p json, p_wait int4) returns json language plpgsql ${PLANS} as $$
declare v_now int8 := {schema}.clock(p_now); v_out json[] := '{}'; r json;
begin
  ${DURABLE_ANYWHERE}
  if p_wait is not null then perform set_config('lock_timeout', p_wait::text, true); end if;
  for r in select value from json_array_elements(p) loop
    v_out := v_out || {schema}.create_run(v_now, r);
  end loop;
  return json_build_object('now', v_now, 'out', array_to_json(v_out));
end $$;

-- True if lanes have the numbers that the caller remembers. After a fail-over they may be those of other lanes.
create or replace function {schema}.are_lanes(p json) returns boolean language plpgsql as $$
begin
  return not exists (select 1 from json_to_recordset(p) as k(lane int4, queue text, name text, priority int4)
    where not exists (select 1 from {schema}.lane l where l.lane = k.lane and l.kind = 'run' and l.queue = k.queue
      and l.name = k.name and l.priority = k.priority));
end $$;

-- The common case, one new run without a name or a parent. Returns null if the id exists, or the lane is not what the
-- caller remembers. It may carry a hint.
create or replace function {schema}.create_one(p_now int8, p_run uuid, p_lane int4, p_queue text, p_name text,
  p_priority int4, p_digest text, p_input text, p_session int8, p_nonce int8, p_channel text, p_hint text)
returns json language plpgsql ${PLANS} as $$
declare v_now int8 := {schema}.clock(p_now); v_eager boolean := false;
begin
  ${DURABLE_ANYWHERE}
  insert into {schema}.run (run_id, lane, created_at, digest, input)
    select p_run, lane, v_now, p_digest, p_input from {schema}.lane
    where lane = p_lane and kind = 'run' and queue = p_queue and name = p_name and priority = p_priority
    on conflict do nothing;
  if not found then return null; end if;
  if p_session is not null then
    perform 1 from {schema}.session where session = p_session and expires_at > ${DEAD} and latest >= v_now for key share;
    v_eager := found;
  end if;
  if v_eager then
    insert into {schema}.live (run_id, lane, at, start_at, session, epoch, nonce, deliveries, status, updated_at)
      values (p_run, p_lane, v_now, v_now, p_session, 1, p_nonce, 1, 'running', v_now);
  else
    insert into {schema}.live (run_id, lane, at, start_at, updated_at) values (p_run, p_lane, v_now, v_now, v_now);
    if p_hint is not null then perform pg_notify(p_channel, p_hint); end if;
  end if;
  return json_build_object('now', v_now, 'mine', v_eager);
end $$;

-- The same for many runs. A session of 0 wants no lease. Returns null if lanes are not what the caller remembers.
create or replace function {schema}.create_plain(p_now int8, p_runs uuid[], p_lanes int4[], p_digests text[],
  p_inputs text, p_sessions int8[], p_nonces int8[], p_known json, p_wait int4)
returns json language plpgsql ${PLANS} as $$
declare v_now int8 := {schema}.clock(p_now); v_new uuid[]; v_mine uuid[]; v_alive int8[] := '{}';
begin
  ${DURABLE_ANYWHERE}
  if p_wait is not null then perform set_config('lock_timeout', p_wait::text, true); end if;
  if not {schema}.are_lanes(p_known) then return null; end if;
  if exists (select 1 from unnest(p_sessions) s where s <> 0) then
    v_alive := array(select session from {schema}.session where session = any(p_sessions) and expires_at > ${DEAD} and latest >= v_now
      order by session for key share);
  end if;
  with fresh as (
    insert into {schema}.run (run_id, lane, created_at, digest, input)
      select r, l, v_now, d, i from unnest(p_runs, p_lanes, p_digests, string_to_array(p_inputs, E'\\x1e'))
        as u(r, l, d, i) on conflict do nothing returning run_id)
  select array_agg(run_id) into v_new from fresh;
  with queued as (
    insert into {schema}.live (run_id, lane, at, start_at, session, epoch, nonce, deliveries, status, updated_at)
      select r, l, v_now, v_now, case when m then s else 0 end, m::int4, case when m then o else 0 end, m::int4,
        case when m then 'running' else 'pending' end, v_now
      from (select r, l, s, o, s = any(v_alive) as m from unnest(p_runs, p_lanes, p_sessions, p_nonces) as u(r, l, s, o)) f
      where cardinality(v_new) = cardinality(p_runs) or r = any(v_new) returning run_id, session)
  select array_agg(run_id) into v_mine from queued where session <> 0;
  return json_build_object('now', v_now, 'new', to_json(coalesce(v_new, '{}')), 'mine', to_json(coalesce(v_mine, '{}')));
end $$;`

export const post = `
-- The row of the run is locked, so no release can come between the insert and the update.
create or replace function {schema}.deliver(p_now int8, p_run uuid, p_id text, p_body text, p_urgent boolean,
  p_resumes boolean) returns json language plpgsql as $$
declare v_live {schema}.live%rowtype;
begin
  select * into v_live from {schema}.live where run_id = p_run for no key update;
  if not found then
    return json_build_object('outcome', case when exists (select 1 from {schema}.run where run_id = p_run)
      then 'closed' else 'missing' end);
  end if;
  insert into {schema}.inbox (run_id, message_id, body) values (p_run, p_id, p_body) on conflict do nothing;
  if not found then return json_build_object('outcome', 'duplicate'); end if;
  -- A run that has not started waits for its start, and a paused one stays paused, unless the message says otherwise.
  if v_live.session = 0 and (v_live.parked_build is null or p_urgent or p_resumes) then
    update {schema}.live set parked_build = null, parked_failure = null, at = least(at, greatest(p_now,
      case when p_urgent or v_live.status <> 'pending' then 0 else start_at end)) where run_id = p_run;
  end if;
  return json_build_object('outcome', 'accepted', 'session', v_live.session);
end $$;

create or replace function {schema}.post_messages(p_now int8, p json) returns json language plpgsql ${PLANS} as $$
declare v_now int8 := {schema}.clock(p_now); v_out json[] := '{}'; m json;
begin
  ${DURABLE}
  ${togetherWait('json_array_length(p)')}
  perform 1 from {schema}.live
    where run_id = any(array(select (value->>'runId')::uuid from json_array_elements(p)))
    order by run_id for no key update;
  for m in select value from json_array_elements(p) loop
    v_out := v_out || {schema}.deliver(v_now, (m->>'runId')::uuid, m->>'id', m->>'body',
      coalesce((m->>'urgent')::boolean, false), coalesce((m->>'resumes')::boolean, false));
  end loop;
  return array_to_json(v_out);
end $$;`
