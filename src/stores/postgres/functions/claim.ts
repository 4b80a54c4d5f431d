// Grants leases, and frees those of dead sessions.
import { limits } from '../../../core/base/limits.ts'
import { NEVER } from '../../../core/stores/driver.ts'
import { DEAD, PASSING, PLANS } from './transaction.ts'

/** How long a run may have been due before it becomes visible: writes in progress, and clocks that differ a little. */
export const SLACK_MS = 5_000

/** A session may be granted rows that became due a moment after its last renewal. */
const HELD_SINCE_MS = 60_000

/** True if the run is pinned to one of the caller's builds, or is unpinned and falls into the caller's share. */
const MINE = `(case when pin is not null then pin = any(p_builds) else p_from is null
      or get_byte(uuid_send(run_id), 14) * 256 + get_byte(uuid_send(run_id), 15) between p_from and p_to - 1 end)`

/** The claimer as parameters. JSON is parsed anew at every arrow, so the request is read once. */
const ASKER = 'p_build text, p_builds text[], p_from int4, p_to int4'
const LESSEE = `p_session int8, p_nonce int8, ${ASKER}`
const TO_ASKER = 'v_build, v_builds, v_from, v_to'
const TO_LESSEE = `v_session, v_nonce, ${TO_ASKER}`

/** Paused by another build than the claimer's, as the two ranges of an index. '' is paused by hand. */
const PAUSED_BEFORE = "parked_build > '' and parked_build < p_build"
const PAUSED_AFTER = 'parked_build > p_build'

const LEASE = `session = p_session, nonce = p_nonce, epoch = epoch + 1, deliveries = deliveries + 1, status = 'running'`

/** True if there is a row. Not by `exists`, because for many lanes the planner would read the whole table once. */
function any(which: string, order: string, table = 'live'): string {
  return `(select true from {schema}.${table} where ${which} order by ${order} limit 1) is not null`
}

export const claim = `
create or replace function {schema}.all_lanes() returns int4[] language plpgsql as $$
begin
  return array(select lane from {schema}.lane union all select -lane from {schema}.lane);
end $$;

-- Rows were due when they were granted, so nothing that a session holds is due later than this, and a search for them
-- skips all that sleep. A clock that was set back has not changed when the session was to end.
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
  -- In the order of locks. Rows that another transaction has locked are freed by one of the next claims.
  v_runs := array(select run_id from {schema}.live where lane = any(v_lanes) and at <= v_until and session = p_session);
  v_tasks := array(select task_id from {schema}.task where lane = any(v_lanes) and at <= v_until and session = p_session);
  v_held := cardinality(v_runs) + cardinality(v_tasks);
  v_runs := array(select run_id from {schema}.live where run_id = any(v_runs) and session = p_session
    order by run_id for no key update skip locked);
  v_tasks := array(select task_id from {schema}.task where task_id = any(v_tasks) and session = p_session
    order by task_id for no key update skip locked);
  -- No turn of the session was stamped later than its latest renewal was good for.
  update {schema}.live set session = 0, nonce = 0, lane = -abs(lane), at = least(at, p_now),
    updated_at = greatest(updated_at, v_latest) where run_id = any(v_runs);
  update {schema}.task set session = 0, nonce = 0, at = p_now where task_id = any(v_tasks);
  if v_held > cardinality(v_runs) + cardinality(v_tasks) then
    update {schema}.session set expires_at = ${DEAD} where session = p_session;
  else
    delete from {schema}.session where session = p_session;
  end if;
end $$;

-- Leases that a session holds and did not list, whatever it serves now.
create or replace function {schema}.strays(p_now int8, p_session int8, p_held uuid[], p_held_tasks uuid[],
  out r_runs uuid[], out r_tasks uuid[]) language plpgsql as $$
declare v_lanes int4[] := {schema}.all_lanes(); v_until int8 := {schema}.held_until(p_now, p_session);
begin
  r_runs := array(select run_id from {schema}.live where lane = any(v_lanes) and at <= v_until and session = p_session
    and run_id <> all(p_held));
  r_tasks := array(select task_id from {schema}.task where lane = any(v_lanes) and at <= v_until and session = p_session
    and task_id <> all(p_held_tasks));
end $$;

-- Of these runs, and of the runs of these tasks, those that another transaction has locked.
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

-- Frees sessions that the claimer found silent, and those whose rows could not all be freed before.
create or replace function {schema}.reap(p_now int8, p_me int8, p_silent json) returns void language plpgsql as $$
declare v_session int8;
begin
  for v_session in select session from {schema}.session where session <> p_me and (expires_at = ${DEAD}
      or exists (select 1 from json_array_elements(p_silent) s
        where (s->>'session')::int8 = session and (s->>'beat')::int8 = beat)) for update skip locked loop
    perform {schema}.free_session(p_now, v_session);
  end loop;
end $$;

-- When a session has missed a renewal: see lateness.ts.
create or replace function {schema}.late_at(p_expires int8, p_ttl int8, p_now int8) returns int8 language sql immutable as $$
  select case when p_expires > p_now + p_ttl + ${limits.clockStepMs} then p_now else
    ceil(p_expires - p_ttl + p_ttl / ${limits.leaseRenewalsPerLife}.0 + least(p_ttl / 12.0, ${limits.renewalLateMsMax}))::int8 end
$$;

-- When the next other session is late, and which are.
create or replace function {schema}.lateness(p_now int8, p_me int8, out r_next int8, out r_late json) language plpgsql as $$
begin
  select min(late) filter (where late > p_now), json_agg(json_build_object('session', session, 'beat', beat, 'ttlMs', ttl_ms))
      filter (where late <= p_now and n <= ${limits.lateSessionsMax}) into r_next, r_late
    from (select *, row_number() over (order by late) as n from (
      select session, beat, ttl_ms, {schema}.late_at(expires_at, ttl_ms, p_now) as late
      from {schema}.session where session <> p_me and expires_at > ${DEAD}) others) numbered;
  if exists (select 1 from {schema}.session where expires_at = ${DEAD}) then
    r_next := least(r_next, p_now + ${limits.lockMsMax});
  end if;
end $$;

-- Which lanes have runs that are due, paused or suspect, in one statement for all of them, because most have none. Held
-- runs stay in the index where they were due, so the search starts at p_since.
create or replace function {schema}.look(p_now int8, p_since int8, ${ASKER}, p_lanes int4[], out r_due int4[],
  out r_paused int4[], out r_suspect int4[], out r_next int8) language plpgsql as $$
begin
  select array_agg(l.lane order by n) filter (where due), array_agg(l.lane order by n) filter (where paused),
      array_agg(l.lane order by n) filter (where suspect), min(next)
    into r_due, r_paused, r_suspect, r_next
  from unnest(p_lanes) with ordinality l(lane, n), lateral (select
    ${any(
      `lane = l.lane and at >= p_since and at <= p_now and session = 0
      and (parked_build is null or parked_build <> p_build) and ${MINE}`,
      'at',
    )} as due,
    ${any(`lane = l.lane and ${PAUSED_BEFORE} and session = 0 and ${MINE}`, 'parked_build')}
      or ${any(`lane = l.lane and ${PAUSED_AFTER} and session = 0 and ${MINE}`, 'parked_build')} as paused,
    ${any(
      `lane = -l.lane and at <= p_now and session = 0
      and (parked_build is null or parked_build <> p_build) and ${MINE}`,
      'at',
    )} as suspect,
    -- Runs of other shares are passed, but not a million at every claim: the claimer looks again when the last is due.
    (select case when mine then first.at else (
        select coalesce(min(at) filter (where mine), case when count(*) = ${limits.runsPassedMax} then max(at) end)
        from (select at, ${MINE} as mine from {schema}.live
          where lane = l.lane and at > p_now and at < ${NEVER} and session = 0 order by at limit ${limits.runsPassedMax}) f) end
      from (select at, ${MINE} as mine from {schema}.live
        where lane = l.lane and at > p_now and at < ${NEVER} and session = 0 order by at limit 1) first) as next
    offset 0) found;
end $$;

create or replace function {schema}.grant_lane(p_now int8, p_since int8, ${LESSEE}, p_lane int4, p_count int4,
  p_deliveries int4) returns uuid[] language plpgsql as $$
declare v_got uuid[];
begin
  with due as materialized (
    select run_id from {schema}.live where lane = p_lane and at >= p_since and at <= p_now and session = 0
      and deliveries >= p_deliveries and (parked_build is null or parked_build <> p_build) and ${MINE}
      order by at limit p_count for no key update skip locked),
  granted as (
    update {schema}.live l set ${LEASE} from due where l.run_id = due.run_id returning l.run_id)
  select array_agg(run_id) into v_got from granted;
  return coalesce(v_got, '{}');
end $$;

create or replace function {schema}.grant_parked(p_now int8, ${LESSEE}, p_lane int4, p_count int4) returns uuid[]
language plpgsql as $$
declare v_due uuid[]; v_got uuid[];
begin
  v_due := array(select run_id from {schema}.live where lane = p_lane and ${PAUSED_BEFORE} and session = 0 and ${MINE}
    limit p_count for no key update skip locked);
  if cardinality(v_due) < p_count then
    v_due := v_due || array(select run_id from {schema}.live where lane = p_lane and ${PAUSED_AFTER} and session = 0 and ${MINE}
      limit p_count - cardinality(v_due) for no key update skip locked);
  end if;
  with granted as (update {schema}.live set ${LEASE}, at = least(at, p_now) where run_id = any(v_due) returning run_id)
  select array_agg(run_id) into v_got from granted;
  return coalesce(v_got, '{}');
end $$;

-- Free runs whose holder died are in lanes of their own (negative), so that the ordinary claim never meets them.
create or replace function {schema}.grant_suspects(p_now int8, ${LESSEE}, p_lanes int4[], p_count int4) returns uuid[]
language plpgsql as $$
declare v_got uuid[] := '{}'; v_lane int4;
begin
  foreach v_lane in array p_lanes loop
    v_got := {schema}.grant_lane(p_now, 0, p_session, p_nonce, p_build, p_builds, p_from, p_to, -v_lane, 1, 2);
    if cardinality(v_got) > 0 then return v_got; end if;
  end loop;
  foreach v_lane in array p_lanes loop
    exit when cardinality(v_got) >= p_count;
    v_got := v_got || {schema}.grant_lane(p_now, 0, p_session, p_nonce, p_build, p_builds, p_from, p_to, -v_lane,
      p_count - cardinality(v_got), 0);
  end loop;
  return v_got;
end $$;

-- In the order of the lanes, which is the claim order.
create or replace function {schema}.grant_runs(p_now int8, p_since int8, ${LESSEE}, p_lanes int4[], p_due int4[],
  p_paused int4[], p_count int4) returns uuid[] language plpgsql as $$
declare v_got uuid[] := '{}'; v_lane int4;
begin
  foreach v_lane in array p_lanes loop
    exit when cardinality(v_got) >= p_count;
    if v_lane = any(p_due) then
      v_got := v_got || {schema}.grant_lane(p_now, p_since, p_session, p_nonce, p_build, p_builds, p_from, p_to, v_lane,
        p_count - cardinality(v_got), 0);
    end if;
    if v_lane = any(p_paused) and cardinality(v_got) < p_count then
      v_got := v_got || {schema}.grant_parked(p_now, p_session, p_nonce, p_build, p_builds, p_from, p_to, v_lane,
        p_count - cardinality(v_got));
    end if;
  end loop;
  return v_got;
end $$;

create or replace function {schema}.grant_tasks(p_now int8, p_since int8, p_session int8, p_nonce int8, p_lanes int4[],
  p_count int4) returns uuid[] language plpgsql as $$
declare v_got uuid[] := '{}'; v_batch uuid[]; v_lane int4;
begin
  foreach v_lane in array p_lanes loop
    exit when cardinality(v_got) >= p_count;
    with due as materialized (
      select task_id from {schema}.task where lane = v_lane and at >= p_since and at <= p_now and session = 0
      order by at limit p_count - cardinality(v_got) for no key update skip locked),
    granted as (
      update {schema}.task t set session = p_session, nonce = p_nonce, epoch = epoch + 1,
        deliveries = deliveries + 1 from due where t.task_id = due.task_id returning t.task_id)
    select array_agg(task_id) into v_batch from granted;
    v_got := v_got || coalesce(v_batch, '{}');
  end loop;
  return v_got;
end $$;

create or replace function {schema}.news(p_session int8, p_held uuid[]) returns json language plpgsql as $$
begin
  if cardinality(p_held) = 0 then return null; end if;
  return (select json_agg(json_build_object('runId', found.run_id, 'messages', found.messages)) from (
      select i.run_id, json_agg(json_build_object('id', i.message_id, 'body', i.body) order by i.id) as messages
      from {schema}.inbox i where i.run_id = any(p_held) group by i.run_id) found
    where exists (select 1 from {schema}.live l where l.run_id = found.run_id and l.session = p_session));
end $$;

create or replace function {schema}.claimed_tasks(p_tasks uuid[]) returns json language plpgsql as $$
begin
  return (select json_agg(json_build_object('task_id', t.task_id, 'run_id', t.run_id, 'name', l.name, 'queue', l.queue,
      'body', t.body, 'at', t.at, 'session', t.session, 'epoch', t.epoch, 'nonce', t.nonce,
      'deliveries', t.deliveries, 'failed', t.failed, 'failure', t.failure))
    from unnest(p_tasks) w(task_id) join {schema}.task t on t.task_id = w.task_id join {schema}.lane l on l.lane = t.lane);
end $$;

-- p_since: nothing that is free became due before, as far as the claimer knows from its last claim. Nothing is locked
-- unless there is something to grant, so an idle claim writes nothing.
create or replace function {schema}.claim(p_now int8, q json, p_since int8) returns json language plpgsql ${PLANS} as $$
declare
  v_now int8 := {schema}.clock(p_now); v_since int8 := least(p_since, v_now - ${SLACK_MS});
  v_session int8 := (q->>'session')::int8; v_nonce int8 := (q->>'nonce')::int8; v_build text := q->>'build';
  v_builds text[] := array(select json_array_elements_text(
    coalesce(q->'pins'->'builds', json_build_array(q->>'build'))));
  v_from int4 := (q->'pins'->>'from')::int4; v_to int4 := (q->'pins'->>'to')::int4;
  v_want int4 := (q->>'runs')::int4; v_want_tasks int4 := (q->>'tasks')::int4;
  v_suspects int4 := least((q->>'suspects')::int4, v_want);
  v_held uuid[] := array(select json_array_elements_text(q->'held')::uuid);
  v_lanes int4[] := {schema}.lanes_of('run', q->'queues', q->'workflows', v_nonce);
  v_task_lanes int4[] := {schema}.lanes_of('task', q->'queues', q->'activities', v_nonce);
  v_runs uuid[] := '{}'; v_tasks uuid[] := '{}'; v_due int4[]; v_paused int4[]; v_suspect int4[]; v_due_tasks int4[];
  v_next int8; v_next_task int8; v_next_late int8; v_late json; v_granted boolean := false; v_all boolean; v_all_tasks boolean;
begin
  ${PASSING}
  perform {schema}.reap(v_now, v_session, q->'silent');
  perform 1 from {schema}.session where session = v_session and expires_at > ${DEAD};
  if not found then return json_build_object('now', v_now, 'dead', true); end if;
  if (q->>'reconcile')::boolean then
    select r_runs, r_tasks into v_runs, v_tasks from {schema}.strays(v_now, v_session, v_held,
      array(select json_array_elements_text(q->'heldTasks')::uuid));
  end if;
  select r_due, r_paused, r_suspect, r_next into v_due, v_paused, v_suspect, v_next
    from {schema}.look(v_now, v_since, ${TO_ASKER}, v_lanes);
  select array_agg(l.lane order by n) filter (where due), min(next) into v_due_tasks, v_next_task
    from unnest(v_task_lanes) with ordinality l(lane, n), lateral (select
      ${any('lane = l.lane and at >= v_since and at <= v_now and session = 0', 'at', 'task')} as due,
      (select at from {schema}.task where lane = l.lane and at > v_now and session = 0 order by at limit 1) as next offset 0) f;
  if (v_want > 0 and cardinality(v_runs) = 0 and coalesce(v_due, v_paused, case when v_suspects > 0 then v_suspect end) is not null)
      or (v_want_tasks > 0 and cardinality(v_tasks) = 0 and v_due_tasks is not null) then
    -- Locked until this is durable, so that no other claim frees the session while leases are granted to it.
    perform 1 from {schema}.session where session = v_session and expires_at > ${DEAD} for key share;
    if not found then return json_build_object('now', v_now, 'dead', true); end if;
    -- The clock was set forward since the last renewal: turns under these leases are stamped later than it was good
    -- for.
    update {schema}.session set latest = v_now where session = v_session and latest < v_now;
    v_granted := true;
  end if;
  -- True if no free row is left.
  v_all := v_due is null;
  v_all_tasks := v_due_tasks is null;
  if v_granted and v_want > 0 and cardinality(v_runs) = 0 then
    if v_suspects > 0 and v_suspect is not null then
      v_runs := {schema}.grant_suspects(v_now, ${TO_LESSEE}, v_suspect, v_suspects);
      select r_suspect into v_suspect from {schema}.look(v_now, v_since, ${TO_ASKER}, v_suspect);
    end if;
    if cardinality(v_runs) = 0 then
      v_runs := {schema}.grant_runs(v_now, v_since, ${TO_LESSEE}, v_lanes, v_due, v_paused, v_want);
      v_all := cardinality(v_runs) < v_want;
    end if;
  end if;
  if v_granted and v_want_tasks > 0 and cardinality(v_tasks) = 0 then
    v_tasks := {schema}.grant_tasks(v_now, v_since, v_session, v_nonce, coalesce(v_due_tasks, '{}'), v_want_tasks);
    v_all_tasks := cardinality(v_tasks) < v_want_tasks;
  end if;
  select r_next, r_late into v_next_late, v_late from {schema}.lateness(v_now, v_session);
  return json_build_object('now', v_now,
    'runs', case when cardinality(v_runs) > 0 then {schema}.claimed(v_runs) end,
    'tasks', case when cardinality(v_tasks) > 0 then {schema}.claimed_tasks(v_tasks) end,
    'news', {schema}.news(v_session, v_held), 'suspects', v_suspect is not null,
    'nextDue', least(v_next, v_next_task), 'nextLate', v_next_late, 'late', v_late,
    'since', case when v_all and v_all_tasks then v_now - ${SLACK_MS} else v_since end);
end $$;`
