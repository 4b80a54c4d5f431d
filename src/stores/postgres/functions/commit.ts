// Writes turns, and what they send to others.
import { ENDED, NEVER, RELEASED } from '../../../core/stores/driver.ts'
import { DURABLE, PLANS, togetherWait } from './transaction.ts'

/** True if a pause does not count and earlier holders died. */
const HAS_DIED = `((p_extra->'pauses'->(t.n::text)->>'uncounted')::boolean is true and l.deliveries > 1)`

const listed = (statuses: readonly string[]): string => `(array[${statuses.map((each) => `'${each}'`).join(', ')}])`
/** The status that the code of a next gives a run that ends, or is released. */
const endedAs = (next: string): string => `${listed(ENDED)}[${next} - 3]`
const releasedAs = (next: string): string => `${listed(RELEASED)}[-${next}]`

export const commit = `
-- Stamped with a time that has not come: the writer's clock is wrong, or the server's clock was set back. A stamp that
-- is not later than the run's own history, or than its holder's session was good for, was right when the turn was made.
create or replace function {schema}.is_ahead(p_run uuid, p_session int8, p_at int8) returns boolean
language plpgsql as $$
begin
  return not exists (select 1 from {schema}.live where run_id = p_run and updated_at >= p_at)
    and not exists (select 1 from {schema}.session where session = p_session and latest >= p_at);
end $$;

-- The common case, one turn that keeps the lease or ends the run and sends nothing: the same rules as commit_turns,
-- without the cost of sets. Returns false if nothing was written; then the caller asks commit_turns, which says why.
create or replace function {schema}.commit_turn(p_now int8, p_ahead int8, p_run uuid, p_session int8, p_epoch int4,
  p_nonce int8, p_generation int4, p_seq int4, p_count int4, p_turn int8, p_at int8, p_next int4, p_body text, p_reason text)
returns boolean language plpgsql ${PLANS} as $$
declare v_now int8 := {schema}.clock(p_now); v_pin text;
begin
  ${DURABLE}
  select pin into v_pin from {schema}.live where run_id = p_run and session = p_session and epoch = p_epoch and nonce = p_nonce
    and generation = p_generation for no key update;
  if not found or p_at > v_now + p_ahead or p_seq <> coalesce((select h.seq + h.count from {schema}.turn h
      where h.run_id = p_run and h.generation = p_generation order by h.seq desc limit 1), 0) then return false; end if;
  if p_next = 0 then
    insert into {schema}.turn (run_id, generation, seq, count, turn_id, epoch, body)
      values (p_run, p_generation, p_seq, p_count, p_turn, p_epoch, p_body);
    return true;
  end if;
  if exists (select 1 from {schema}.inbox where run_id = p_run) then return false; end if;
  insert into {schema}.closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, pin, reason)
    values (p_run, ${endedAs('p_next')}, greatest(v_now, p_at), p_generation,
      p_seq, p_count, p_turn, p_epoch, p_body, v_pin, p_reason);
  delete from {schema}.live where run_id = p_run;
  delete from {schema}.note where run_id = p_run;
  return true;
end $$;

-- next: 0 hold, 3 pause, from 4 on the statuses in ENDED, and from -1 down those in RELEASED. Turn n consumes the messages that
-- are listed under n, and leaves those under -n. Returns only turns that were not applied.
create or replace function {schema}.commit_turns(p_now int8, p_ahead int8, p_runs uuid[], p_sessions int8[],
  p_epochs int4[], p_nonces int8[], p_generations int4[], p_seqs int4[], p_counts int4[], p_turns int8[],
  p_ats int8[], p_nexts int4[], p_wakes int8[], p_bodies text, p_reasons text, p_taken_n int4[], p_taken text, p_extra json)
returns json language plpgsql ${PLANS} as $$
declare
  v_now int8 := {schema}.clock(p_now);
  -- An empty text for a turn without a reason, and an empty array if no turn has one.
  v_reasons text[] := string_to_array(p_reasons, E'\\x1e');
  v_bodies text[] := string_to_array(p_bodies, E'\\x1e');
  v_taken text[] := string_to_array(p_taken, E'\\x1e');
  v_applied int4[]; v_ready boolean := false;
  -- One for each turn, or none at all.
  v_undoing boolean[] := '{}'; v_pins text[] := '{}';
begin
  ${DURABLE}
  ${togetherWait('cardinality(p_runs)')}
  if p_extra is not null then
    v_undoing := array(select json_array_elements_text(p_extra->'undoing')::boolean);
    v_pins := array(select json_array_elements_text(p_extra->'pins'));
  end if;
  perform 1 from {schema}.live where run_id = any(p_runs ||
      array(select (value->>'target')::uuid from json_array_elements(p_extra->'posts')))
    order by run_id for no key update;
  with t as (
    select * from unnest(p_runs, p_sessions, p_epochs, p_nonces, p_generations, p_seqs, p_counts, p_turns, p_ats,
      p_nexts, p_wakes, v_bodies, v_pins, v_reasons) with ordinality
      as u(run_id, session, epoch, nonce, generation, seq, count, turn_id, at, next, wake, body, new_pin, reason, n)),
  ok as materialized (
    select t.*, coalesce(l.pin, t.new_pin) as pin from t join {schema}.live l on l.run_id = t.run_id
    where l.session = t.session and l.epoch = t.epoch and l.nonce = t.nonce and l.generation = t.generation
      and (t.at <= v_now + p_ahead or not {schema}.is_ahead(t.run_id, t.session, t.at))
      and t.seq = coalesce((select h.seq + h.count from {schema}.turn h
        where h.run_id = t.run_id and h.generation = t.generation order by h.seq desc limit 1), 0)
      and (t.next < 3 or not exists (select 1 from {schema}.inbox i where i.run_id = t.run_id
        and not exists (select 1 from unnest(p_taken_n, v_taken) c(n, id) where abs(c.n) = t.n and c.id = i.message_id)))),
  appended as (
    insert into {schema}.turn (run_id, generation, seq, count, turn_id, epoch, body)
      select run_id, generation, seq, count, turn_id, epoch, body from ok where next < 4 and count > 0),
  closed as (
    insert into {schema}.closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, pin, reason)
      select run_id, ${endedAs('next')}, greatest(v_now, at), generation,
        seq, count, turn_id, epoch, body, pin, nullif(reason, '') from ok where next >= 4),
  gone as (delete from {schema}.live l using ok where l.run_id = ok.run_id and ok.next >= 4),
  unnoted as (delete from {schema}.note o using ok where o.run_id = ok.run_id and ok.next >= 4),
  taken as (
    delete from {schema}.inbox i using ok, unnest(p_taken_n, v_taken) c(n, id)
      where c.n = ok.n and i.run_id = ok.run_id and i.message_id = c.id)
  select coalesce(array_agg(ok.n), '{}') into v_applied from ok;
  -- A statement after the lock: it sees messages that came before the lock, and later ones find the run released.
  if exists (select 1 from unnest(p_nexts) x where x < 4 and x <> 0) then
    -- If holders died before the run was paused, it stays suspect.
    with released as (update {schema}.live l set session = 0, nonce = 0, seq = t.seq + t.count,
      lane = case when ${HAS_DIED} then -abs(l.lane) else abs(l.lane) end,
      deliveries = case when ${HAS_DIED} then l.deliveries - 1 else 0 end,
      -- A turn without events is not stored. Others may have been since the last release.
      turn_id = case when t.count > 0 then t.turn_id else coalesce((select h.turn_id from {schema}.turn h
        where h.run_id = t.run_id and h.generation = l.generation order by h.seq desc limit 1), 0) end,
      updated_at = greatest(v_now, t.at), compensating = coalesce(t.undoing, l.compensating), pin = coalesce(l.pin, t.new_pin), status = case when t.next = 3 then 'paused' else ${releasedAs('t.next')} end,
      at = case when ${HAS_DIED} and p_extra->'pauses'->(t.n::text)->>'build' <> '' then v_now
        when t.next = 3 then ${NEVER}
        when exists (select 1 from {schema}.inbox i where i.run_id = t.run_id) then v_now else greatest(t.wake, v_now) end,
      reason = nullif(t.reason, ''), parked_build = case when t.next = 3 then coalesce(p_extra->'pauses'->(t.n::text)->>'build', '') end,
      parked_failure = case when t.next = 3 then p_extra->'pauses'->(t.n::text)->>'failure' end
    from unnest(p_runs, p_seqs, p_counts, p_turns, p_ats, p_nexts, p_wakes, v_undoing, v_pins, v_reasons) with ordinality
      as t(run_id, seq, count, turn_id, at, next, wake, undoing, new_pin, reason, n)
    where l.run_id = t.run_id and t.n = any(v_applied) and t.next < 4 and t.next <> 0
    returning l.at) select coalesce(bool_or(at <= v_now), false) into v_ready from released;
  end if;
  -- The row of a run that stays held is updated only if a mark changes.
  if cardinality(v_undoing) + cardinality(v_pins) > 0 then
    update {schema}.live l set compensating = coalesce(t.undoing, l.compensating), pin = coalesce(l.pin, t.new_pin)
    from unnest(p_runs, p_nexts, v_undoing, v_pins) with ordinality as t(run_id, next, undoing, new_pin, n)
    where l.run_id = t.run_id and t.n = any(v_applied) and t.next = 0
      and (t.undoing <> l.compensating or (l.pin is null and t.new_pin is not null));
  end if;
  return json_build_object('now', v_now, 'ready', v_ready,
    'posted', case when p_extra is not null then {schema}.commit_extra(v_now, p_extra, v_applied) end,
    'refused', case when cardinality(v_applied) < cardinality(p_runs) then
      {schema}.refused_turns(v_now, p_ahead, p_runs, p_sessions, p_epochs, p_nonces, p_generations, p_seqs, p_turns,
        p_ats, p_nexts, p_taken_n, v_taken, v_applied) end);
end $$;

-- Why turns were not applied: stored before, no longer the holder's, stamped ahead, or with unread messages.
create or replace function {schema}.refused_turns(p_now int8, p_ahead int8, p_runs uuid[], p_sessions int8[],
  p_epochs int4[], p_nonces int8[], p_generations int4[], p_seqs int4[], p_turns int8[], p_ats int8[],
  p_nexts int4[], p_taken_n int4[], p_taken text[], p_applied int4[]) returns json
language sql volatile as $$
  select json_agg(json_build_object('n', t.n, 'outcome',
    case
      when exists (select 1 from {schema}.turn h where h.run_id = t.run_id and h.generation = t.generation
        and h.seq = t.seq and h.turn_id = t.turn_id) then 'duplicate'
      when exists (select 1 from {schema}.closed c where c.run_id = t.run_id and c.turn_id = t.turn_id) then 'duplicate'
      when not exists (select 1 from {schema}.live l where l.run_id = t.run_id and l.session = t.session
        and l.epoch = t.epoch and l.nonce = t.nonce and l.generation = t.generation) then 'fenced'
      when t.at > p_now + p_ahead and {schema}.is_ahead(t.run_id, t.session, t.at) then 'ahead'
      when t.seq <> coalesce((select h.seq + h.count from {schema}.turn h
        where h.run_id = t.run_id and h.generation = t.generation order by h.seq desc limit 1), 0) then 'fenced'
      when t.next >= 3 and exists (select 1 from {schema}.inbox i where i.run_id = t.run_id) then 'more'
      else 'fenced' end,
    'messages', case when t.next >= 3 then (
      select json_agg(json_build_object('id', i.message_id, 'body', i.body) order by i.id)
      from {schema}.inbox i where i.run_id = t.run_id and not exists (
        select 1 from unnest(p_taken_n, p_taken) c(n, id) where abs(c.n) = t.n and c.id = i.message_id)) end))
  from unnest(p_runs, p_sessions, p_epochs, p_nonces, p_generations, p_seqs, p_turns, p_ats, p_nexts) with ordinality
    as t(run_id, session, epoch, nonce, generation, seq, turn_id, at, next, n)
  where t.n <> all(p_applied)
$$;

-- What applied turns change beside their runs: tasks, attributes, generations, new runs, messages.
create or replace function {schema}.commit_extra(p_now int8, p json, p_applied int4[]) returns json
language plpgsql as $$
declare v_out json[] := '{}'; x json; v_answer json;
begin
  for x in select value from json_array_elements(p->'tasks') loop
    continue when (x->>'n')::int4 <> all(p_applied);
    insert into {schema}.task (task_id, run_id, lane, at, body) values ((x->>'taskId')::uuid, (x->>'runId')::uuid,
      {schema}.lane_of('task', x->>'queue', x->>'name', (x->>'priority')::int4), p_now, x->>'body')
      on conflict do nothing;
  end loop;
  delete from {schema}.task where task_id = any(array(
    select (value->>'taskId')::uuid from json_array_elements(p->'dropped')
    where (value->>'n')::int4 = any(p_applied)));
  for x in select value from json_array_elements(p->'attributes') loop
    continue when (x->>'n')::int4 <> all(p_applied);
    perform {schema}.set_attributes((x->>'runId')::uuid, x->'set');
  end loop;
  for x in select value from json_array_elements(p->'streams') loop
    continue when (x->>'n')::int4 <> all(p_applied);
    perform {schema}.write_streams(x->'stream');
  end loop;
  -- Released above, and due at once in the next generation.
  for x in select value from json_array_elements(p->'continues') loop
    continue when (x->>'n')::int4 <> all(p_applied);
    perform {schema}.begin_generation((x->>'runId')::uuid, (x->>'generation')::int4, (x->>'epoch')::int4, x->'past');
    update {schema}.live set generation = (x->>'generation')::int4, seq = (x->'past'->>'count')::int4, at = p_now,
        turn_id = (x->'past'->>'turnId')::int8, compensating = false
      where run_id = (x->>'runId')::uuid;
  end loop;
  for x in select value from json_array_elements(p->'starts') loop
    continue when (x->>'n')::int4 <> all(p_applied);
    v_answer := {schema}.create_run(p_now, x->'run');
    if v_answer->>'outcome' = 'refused' then
      v_out := v_out || {schema}.deliver(p_now, (x->>'sender')::uuid, x->>'id', x->>'body', false, false);
    end if;
  end loop;
  for x in select value from json_array_elements(p->'posts') loop
    continue when (x->>'n')::int4 <> all(p_applied);
    v_out := v_out || {schema}.deliver(p_now, (x->>'target')::uuid, x->>'id', x->>'body',
      coalesce((x->>'urgent')::boolean, false), coalesce((x->>'resumes')::boolean, false));
  end loop;
  return array_to_json(v_out);
end $$;`
