// Settles tasks, keeps notes, and renews sessions.
import { DEAD, DURABLE, PASSING, PLANS, togetherWait } from './transaction.ts'

export const settle = `
create or replace function {schema}.note(p_now int8, p json) returns json language plpgsql ${PLANS} as $$
declare v_out json[] := '{}'; o json; v_body text;
begin
  -- A note of a heartbeat may be lost with the server. One that is kept once may not: it stands for a completed effect.
  if exists (select 1 from json_array_elements(p) where (value->>'once')::boolean) then ${DURABLE}
  else ${PASSING} end if;
  -- Locked until this is durable, so that a turn that ends the run or the generation sees the notes it must delete.
  perform 1 from {schema}.live
    where run_id = any(array(select (value->>'runId')::uuid from json_array_elements(p))) order by run_id for share;
  for o in select value from json_array_elements(p) loop
    v_body := null;
    perform 1 from {schema}.live where run_id = (o->>'runId')::uuid and generation = (o->>'generation')::int4;
    if found then
      insert into {schema}.note values ((o->>'runId')::uuid, (o->>'generation')::int4, o->>'key', o->>'name', o->>'body')
        on conflict (run_id, generation, key, name) do update
        set body = case when (o->>'once')::boolean then note.body else excluded.body end
        returning body into v_body;
    end if;
    v_out := v_out || json_build_object('body', v_body);
  end loop;
  return array_to_json(v_out);
end $$;

create or replace function {schema}.settle_tasks(p_now int8, p json) returns json language plpgsql ${PLANS} as $$
declare v_now int8 := {schema}.clock(p_now); v_out json[] := '{}'; s json; v_task {schema}.task%rowtype;
begin
  ${DURABLE}
  ${togetherWait('json_array_length(p)')}
  perform 1 from {schema}.live where run_id = any(array(
      select t.run_id from json_array_elements(p) j join {schema}.task t on t.task_id = (j.value->>'taskId')::uuid))
    order by run_id for no key update;
  for s in select value from json_array_elements(p) loop
    select * into v_task from {schema}.task where task_id = (s->>'taskId')::uuid
      and session = (s->>'session')::int8 and epoch = (s->>'epoch')::int4 and nonce = (s->>'nonce')::int8
      for update;
    if not found then
      v_out := v_out || json_build_object('outcome', 'fenced');
    elsif s->>'type' = 'done' then
      delete from {schema}.task where task_id = v_task.task_id;
      v_out := v_out || json_build_object('outcome', 'applied', 'session', {schema}.deliver(v_now, v_task.run_id,
        s->>'id', s->>'body', false, false)->>'session');
    elsif s->>'type' = 'return' then
      update {schema}.task set session = 0, nonce = 0, deliveries = deliveries - 1, at = v_now where task_id = v_task.task_id;
      v_out := v_out || json_build_object('outcome', 'applied');
    else
      update {schema}.task set session = 0, nonce = 0, deliveries = 0, at = v_now + (s->>'delayMs')::int8,
        failed = (s->>'failed')::int4, failure = s->>'failure' where task_id = v_task.task_id;
      v_out := v_out || json_build_object('outcome', 'applied');
    end if;
  end loop;
  return array_to_json(v_out);
end $$;

create or replace function {schema}.renew(p_now int8, b json) returns json language plpgsql ${PLANS} as $$
declare
  v_now int8 := {schema}.clock(p_now); v_session int8 := (b->>'session')::int8; v_alive boolean := false;
  v_ttl int8 := (b->>'ttlMs')::int8;
begin
  ${PASSING}
  if (b->>'close')::boolean then
    perform 1 from {schema}.session where session = v_session for update;
    if found then perform {schema}.free_session(v_now, v_session); end if;
  elsif (b->>'beat')::int8 = 1 then
    insert into {schema}.session (session, worker, beat, expires_at, about, ttl_ms, latest)
      values (v_session, b->>'worker', 1, v_now + v_ttl, b->>'about', v_ttl, v_now + v_ttl)
      on conflict (session) do update set worker = excluded.worker, beat = 1, expires_at = excluded.expires_at, ttl_ms = excluded.ttl_ms, about = excluded.about,
        latest = greatest(session.latest, session.expires_at, excluded.latest) where session.expires_at > ${DEAD};
    v_alive := found;
  else
    -- A session that no claim has freed still holds all its leases, even if its time is over: the clock may have
    -- jumped.
    update {schema}.session set worker = b->>'worker', beat = (b->>'beat')::int8, about = b->>'about', expires_at = v_now + v_ttl, ttl_ms = v_ttl,
      latest = greatest(latest, expires_at, v_now + v_ttl) where session = v_session and expires_at > ${DEAD};
    v_alive := found;
    update {schema}.release set used_at = v_now where release = '{release}' and used_at < v_now - 3600000;
  end if;
  return json_build_object('now', v_now, 'alive', v_alive, 'lost', (
    select json_agg(w.id) from (select value as id from json_array_elements_text(b->'tasks')) w
    where not exists (select 1 from {schema}.task t where t.task_id = w.id::uuid and t.session = v_session)));
end $$;`
