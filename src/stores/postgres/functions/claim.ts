// Handing out leases, and taking back those of the dead.
import { limits } from '../../../kernel/limits.ts'
import { NEVER } from '../../never.ts'
import { PLANS } from './plans.ts'
import { DEAD } from './sessions.ts'
import { PASSING } from './transaction.ts'

/** A session may be granted what became due a moment after its last renewal. */
const HELD_SINCE_MS = 60_000

/** What a request says about pins, read once: JSON is parsed anew at every arrow. */
const PINS = `v_builds text[] := array(select json_array_elements_text(
    coalesce(q->'pins'->'builds', json_build_array(q->>'build'))));
  v_from int4 := (q->'pins'->>'from')::int4; v_to int4 := (q->'pins'->>'to')::int4;`

/** Whether a run is for who asks: pinned to one of their builds, or with the number at the end of its id in their share. */
const MINE = `(case when pin is not null then pin = any(v_builds) else v_from is null
      or get_byte(uuid_send(run_id), 14) * 256 + get_byte(uuid_send(run_id), 15) between v_from and v_to - 1 end)`

export const claimed = `
create or replace function {schema}.claimed(p_runs uuid[]) returns json language plpgsql ${PLANS} as $$
begin
  return (select coalesce(json_agg(json_build_object(
    'run_id', run.run_id, 'name', l.name, 'queue', l.queue, 'priority', l.priority,
    'workflow_id', run.workflow_id, 'parent_id', run.parent_id, 'parent_generation', run.parent_generation,
    'parent_key', run.parent_key, 'created_at', run.created_at, 'input', run.input, 'extras', run.extras,
    'generation', live.generation, 'session', live.session, 'epoch', live.epoch, 'nonce', live.nonce,
    'deliveries', live.deliveries, 'seq', live.seq, 'turn_id', live.turn_id,
    'messages', (select json_agg(json_build_object('id', i.message_id, 'body', i.body) order by i.id)
                 from {schema}.inbox i where i.run_id = live.run_id))), '[]')
  from unnest(p_runs) as wanted(run_id)
    join {schema}.live on live.run_id = wanted.run_id
    join {schema}.run on run.run_id = wanted.run_id
    join {schema}.lane l on l.lane = run.lane);
end $$;`

export const claim = `
create or replace function {schema}.all_lanes() returns int4[] language plpgsql as $$
begin
  return array(select lane from {schema}.lane union all select -lane from {schema}.lane);
end $$;

-- What is held was due when it was granted: nothing that a session holds is due later than this, and so whoever looks for
-- it passes by all that sleeps. A clock that was set back has not changed when the session was to end.
create or replace function {schema}.held_until(p_now int8, p_session int8) returns int8 language plpgsql as $$
begin
  return (select greatest(p_now, expires_at, latest) + ${HELD_SINCE_MS} from {schema}.session where session = p_session);
end $$;

create or replace function {schema}.free_session(p_now int8, p_session int8) returns void
language plpgsql as $$
declare
  v_runs uuid[]; v_tasks uuid[]; v_held int4; v_lanes int4[] := {schema}.all_lanes();
  v_until int8 := {schema}.held_until(p_now, p_session);
  v_latest int8 := (select latest from {schema}.session where session = p_session);
begin
  -- In the order everybody locks in. What somebody has locked is freed by one of the next claims, and all else now.
  v_runs := array(select run_id from {schema}.live where lane = any(v_lanes) and at <= v_until and session = p_session
    order by run_id for no key update skip locked);
  v_tasks := array(select task_id from {schema}.task where lane = any(v_lanes) and at <= v_until and session = p_session
    order by task_id for no key update skip locked);
  v_held := (select count(*) from {schema}.live where lane = any(v_lanes) and at <= v_until and session = p_session)
    + (select count(*) from {schema}.task where lane = any(v_lanes) and at <= v_until and session = p_session);
  -- No turn of the session was stamped later than its latest.
  update {schema}.live set session = 0, nonce = 0, lane = -abs(lane), at = least(at, p_now),
    updated_at = greatest(updated_at, v_latest) where run_id = any(v_runs);
  update {schema}.task set session = 0, nonce = 0, at = least(at, p_now) where task_id = any(v_tasks);
  if v_held > cardinality(v_runs) + cardinality(v_tasks) then
    update {schema}.session set expires_at = ${DEAD} where session = p_session;
  else
    delete from {schema}.session where session = p_session;
  end if;
end $$;

-- Of these, what somebody else has locked: runs, and tasks of runs.
create or replace function {schema}.locked(p_now int8, p_runs uuid[], p_tasks uuid[]) returns json
language plpgsql ${PLANS} as $$
declare v_runs uuid[] := p_runs || array(select run_id from {schema}.task where task_id = any(p_tasks)); v_free uuid[];
begin
  ${PASSING}
  v_free := array(select run_id from {schema}.live where run_id = any(v_runs) order by run_id for no key update skip locked);
  v_runs := array(select run_id from {schema}.live where run_id = any(v_runs) and run_id <> all(v_free));
  return (select coalesce(json_agg(id), '[]') from (select unnest(v_runs) as id
    union select task_id from {schema}.task where task_id = any(p_tasks) and run_id = any(v_runs)) f);
end $$;

create or replace function {schema}.reap(p_now int8, p_me int8, p_silent json) returns void language plpgsql as $$
declare v_session int8;
begin
  if json_array_length(p_silent) = 0 then return; end if;
  for v_session in select session from {schema}.session
      join (select (value->>'session')::int8 as id, (value->>'beat')::int8 as seen from json_array_elements(p_silent)) s
      on session = id where beat = seen and session <> p_me for update of session skip locked loop
    perform {schema}.free_session(p_now, v_session);
  end loop;
end $$;

-- When a session has missed a renewal: see lateness.ts.
create or replace function {schema}.late_at(p_expires int8, p_ttl int8, p_now int8) returns int8 language sql immutable as $$
  select case when p_expires > p_now + p_ttl + ${limits.clockStepMs} then p_now else
    ceil(p_expires - p_ttl + p_ttl / ${limits.leaseRenewalsPerLife}.0 + least(p_ttl / 12.0, ${limits.renewalLateMsMax}))::int8 end
$$;

create or replace function {schema}.grant_lane(p_now int8, q json, p_lane int4, p_count int4, p_deliveries int4)
returns uuid[] language plpgsql as $$
declare v_got uuid[]; ${PINS}
begin
  with due as materialized (
    select run_id from {schema}.live where lane = p_lane and at <= p_now and session = 0
      and deliveries >= p_deliveries and (parked_build is null or parked_build <> q->>'build') and ${MINE} order by at limit p_count for no key update skip locked),
  granted as (
    update {schema}.live l set session = (q->>'session')::int8, nonce = (q->>'nonce')::int8, epoch = epoch + 1,
      deliveries = deliveries + 1, status = 'running' from due where l.run_id = due.run_id returning l.run_id)
  select array_agg(run_id) into v_got from granted;
  return coalesce(v_got, '{}');
end $$;

create or replace function {schema}.grant_parked(p_now int8, q json, p_lane int4, p_count int4) returns uuid[]
language plpgsql as $$
declare v_got uuid[]; ${PINS}
begin
  with due as materialized (
    select run_id from {schema}.live where lane = p_lane and parked_build is not null
      and parked_build <> '' and parked_build <> q->>'build' and session = 0 and ${MINE} limit p_count for no key update skip locked),
  granted as (
    update {schema}.live l set session = (q->>'session')::int8, nonce = (q->>'nonce')::int8, epoch = epoch + 1,
      deliveries = deliveries + 1, status = 'running', at = least(at, p_now)
    from due where l.run_id = due.run_id returning l.run_id)
  select array_agg(run_id) into v_got from granted;
  return coalesce(v_got, '{}');
end $$;

-- Runs whose holder died wait in lanes of their own (negative), so that the ordinary claim never meets them.
create or replace function {schema}.grant_runs(p_now int8, q json, p_lanes int4[]) returns uuid[]
language plpgsql as $$
declare
  v_runs int4 := (q->>'runs')::int4; v_suspects int4 := least((q->>'suspects')::int4, v_runs);
  v_got uuid[] := '{}'; v_lane int4;
begin
  if v_suspects > 0 then
    foreach v_lane in array p_lanes loop
      v_got := {schema}.grant_lane(p_now, q, -v_lane, 1, 2);
      if cardinality(v_got) > 0 then return v_got; end if;
    end loop;
    foreach v_lane in array p_lanes loop
      exit when cardinality(v_got) >= v_suspects;
      v_got := v_got || {schema}.grant_lane(p_now, q, -v_lane, v_suspects - cardinality(v_got), 0);
    end loop;
    if cardinality(v_got) > 0 then return v_got; end if;
  end if;
  foreach v_lane in array p_lanes loop
    exit when cardinality(v_got) >= v_runs;
    v_got := v_got || {schema}.grant_lane(p_now, q, v_lane, v_runs - cardinality(v_got), 0);
    exit when cardinality(v_got) >= v_runs;
    v_got := v_got || {schema}.grant_parked(p_now, q, v_lane, v_runs - cardinality(v_got));
  end loop;
  return v_got;
end $$;

create or replace function {schema}.grant_tasks(p_now int8, q json, p_lanes int4[]) returns uuid[]
language plpgsql as $$
declare v_tasks int4 := (q->>'tasks')::int4; v_got uuid[] := '{}'; v_batch uuid[]; v_lane int4;
begin
  foreach v_lane in array p_lanes loop
    exit when cardinality(v_got) >= v_tasks;
    with due as materialized (
      select task_id from {schema}.task where lane = v_lane and at <= p_now and session = 0
      order by at limit v_tasks - cardinality(v_got) for no key update skip locked),
    granted as (
      update {schema}.task t set session = (q->>'session')::int8, nonce = (q->>'nonce')::int8, epoch = epoch + 1,
        deliveries = deliveries + 1 from due where t.task_id = due.task_id returning t.task_id)
    select array_agg(task_id) into v_batch from granted;
    v_got := v_got || coalesce(v_batch, '{}');
  end loop;
  return v_got;
end $$;

create or replace function {schema}.outlook(p_now int8, q json, p_runs int4[], p_tasks int4[]) returns json
language plpgsql as $$
declare v_next int8; v_at int8; v_mine boolean; v_lane int4; v_suspects boolean := false; v_held uuid[]; v_news json;
  v_session int8 := (q->>'session')::int8; v_build text := q->>'build';
  v_late json;
  ${PINS}
begin
  foreach v_lane in array p_runs loop
    select at, ${MINE} into v_at, v_mine from {schema}.live
      where lane = v_lane and at > p_now and at < ${NEVER} and session = 0 order by at limit 1;
    -- Others' are passed by, but not a million of them at every claim: when the last that was looked at is due, one looks again.
    if not v_mine then
      select coalesce(min(at) filter (where mine), case when count(*) = ${limits.runsPassedMax} then max(at) end) into v_at
        from (select at, ${MINE} as mine from {schema}.live
          where lane = v_lane and at > p_now and at < ${NEVER} and session = 0 order by at limit ${limits.runsPassedMax}) f;
    end if;
    v_next := least(v_next, v_at);
    v_suspects := v_suspects or exists (
      select 1 from {schema}.live where lane = -v_lane and at <= p_now and session = 0
        and (parked_build is null or parked_build <> v_build) and ${MINE});
  end loop;
  foreach v_lane in array p_tasks loop
    select at into v_at from {schema}.task where lane = v_lane and at > p_now and session = 0
      order by at limit 1;
    v_next := least(v_next, v_at);
  end loop;
  select least(v_next, min(late) filter (where late > p_now)), json_agg(json_build_object('session', session, 'beat', beat,
      'ttlMs', ttl_ms)) filter (where late <= p_now and n < ${limits.lateSessionsMax}) into v_next, v_late
    from (select session, beat, ttl_ms, {schema}.late_at(expires_at, ttl_ms, p_now) as late, row_number() over () as n
      from {schema}.session where session <> v_session) others;
  v_held := array(select value::uuid from json_array_elements_text(q->'held'));
  if cardinality(v_held) > 0 then
    select json_agg(json_build_object('runId', found.run_id, 'messages', found.messages)) into v_news from (
      select i.run_id, json_agg(json_build_object('id', i.message_id, 'body', i.body) order by i.id) as messages
      from {schema}.inbox i where i.run_id = any(v_held) group by i.run_id) found
    where exists (select 1 from {schema}.live l where l.run_id = found.run_id
      and l.session = v_session);
  end if;
  return json_build_object('nextDue', v_next, 'suspects', v_suspects, 'news', v_news, 'late', v_late);
end $$;

create or replace function {schema}.claim(p_now int8, q json) returns json language plpgsql ${PLANS} as $$
declare
  v_now int8 := {schema}.clock(p_now);
  v_session int8 := (q->>'session')::int8;
  v_run_lanes int4[] := {schema}.lanes_of('run', q->'queues', q->'workflows', (q->>'nonce')::int8);
  v_task_lanes int4[] := {schema}.lanes_of('task', q->'queues', q->'activities', (q->>'nonce')::int8);
  v_runs uuid[] := '{}'; v_tasks uuid[] := '{}'; v_lanes int4[]; v_until int8;
  -- What a grant needs, without all that is held: JSON is parsed anew at every arrow, for every row.
  v_asked json := json_build_object('session', q->'session', 'nonce', q->'nonce', 'build', q->'build', 'pins', q->'pins',
    'runs', q->'runs', 'suspects', q->'suspects', 'tasks', q->'tasks');
begin
  ${PASSING}
  perform {schema}.reap(v_now, v_session, q->'silent');
  -- Held until this is durable: a reaper cannot declare the session dead while leases are being granted to it.
  perform 1 from {schema}.session where session = v_session and expires_at > ${DEAD} for key share;
  if not found then return json_build_object('now', v_now, 'dead', true); end if;
  if (q->>'reconcile')::boolean then
    -- Whatever it serves now: what a session holds is its own.
    v_until := {schema}.held_until(v_now, v_session);
    v_lanes := {schema}.all_lanes();
    v_runs := array(select run_id from {schema}.live where lane = any(v_lanes) and at <= v_until and session = v_session
      and run_id <> all(array(select json_array_elements_text(q->'held')::uuid)));
    v_tasks := array(select task_id from {schema}.task where lane = any(v_lanes) and at <= v_until and session = v_session
      and task_id <> all(array(select json_array_elements_text(q->'heldTasks')::uuid)));
  end if;
  if cardinality(v_runs) = 0 and (q->>'runs')::int4 > 0 then
    v_runs := {schema}.grant_runs(v_now, v_asked, v_run_lanes);
  end if;
  if cardinality(v_tasks) = 0 and (q->>'tasks')::int4 > 0 then
    v_tasks := {schema}.grant_tasks(v_now, v_asked, v_task_lanes);
  end if;
  return json_build_object('now', v_now,
    'runs', case when cardinality(v_runs) > 0 then {schema}.claimed(v_runs) end,
    'tasks', case when cardinality(v_tasks) > 0 then (
      select json_agg(json_build_object('task_id', t.task_id, 'run_id', t.run_id, 'name', l.name, 'queue', l.queue,
        'body', t.body, 'at', t.at, 'session', t.session, 'epoch', t.epoch, 'nonce', t.nonce,
        'deliveries', t.deliveries, 'failed', t.failed, 'failure', t.failure))
      from unnest(v_tasks) w(task_id) join {schema}.task t on t.task_id = w.task_id
        join {schema}.lane l on l.lane = t.lane) end,
    'outlook', {schema}.outlook(v_now, q, v_run_lanes, v_task_lanes));
end $$;`
