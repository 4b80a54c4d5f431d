// Streams. The rules are those of `rules/streams.ts`.
import { limits } from '../../../core/base/limits.ts'
import { DURABLE, PLANS, togetherWait } from './transaction.ts'

/** The row of a batch's stream. */
const STREAM = `select * into s from {schema}.stream where run_id = v_run and name = b->>'stream'`

export const streams = `
-- Adds a batch, and its part if that is new. Returns the offset of its first item. The caller has locked the run, and
-- has read the stream and the part, if they exist.
create or replace function {schema}.write_batch(b json, s {schema}.stream, p {schema}.stream_part, p_is_part boolean)
returns int8 language plpgsql as $$
declare
  v_run uuid := (b->>'runId')::uuid; v_items int4 := (b->>'items')::int4; v_first int8 := coalesce(s.items, 0);
  v_number int4 := coalesce(s.parts, 0); v_n int4 := 0;
begin
  insert into {schema}.stream (run_id, name, items, bytes, parts, closed_in)
    values (v_run, b->>'stream', v_items, (b->>'bytes')::int8, 1, 0)
    on conflict (run_id, name) do update set items = stream.items + v_items, bytes = stream.bytes + excluded.bytes,
      parts = stream.parts + case when p_is_part then 1 else 0 end;
  if p_is_part then
    insert into {schema}.stream_part (run_id, name, number, writer, chapter, generation, attempt, part_id, keep, items,
      batches) values (v_run, b->>'stream', v_number, b->>'writer', (b->>'chapter')::int4,
      (b->>'generation')::int4, (b->>'attempt')::int4, (b->>'partId')::int8, (b->>'keep')::int8, v_items, 1);
  else
    v_number := p.number;
    v_n := p.batches;
    update {schema}.stream_part set items = items + v_items, batches = batches + 1
      where run_id = v_run and name = p.name and number = v_number;
  end if;
  if v_items > 0 then
    insert into {schema}.stream_batch (run_id, name, first, count, part, n, body) values (v_run, b->>'stream', v_first, v_items, v_number, v_n, b->>'body');
  end if;
  return v_first;
end $$;

create or replace function {schema}.append_batch(b json) returns json language plpgsql as $$
declare
  v_run uuid := (b->>'runId')::uuid; v_generation int4 := (b->>'generation')::int4; v_attempt int4 := (b->>'attempt')::int4;
  v_n int4 := (b->>'n')::int4; v_live {schema}.live%rowtype; s {schema}.stream%rowtype; p {schema}.stream_part%rowtype;
  v_session int8 := (b->>'session')::int8; v_epoch int4 := (b->>'epoch')::int4; v_nonce int8 := (b->>'nonce')::int8;
  v_is_same boolean; v_offset int8;
begin
  select * into v_live from {schema}.live where run_id = v_run;
  if not found then
    return json_build_object('outcome', case when exists (select 1 from {schema}.run where run_id = v_run)
      then 'closed' else 'missing' end);
  end if;
  if v_live.generation <> v_generation or not (case when b->>'taskId' is null
      then v_live.session = v_session and v_live.epoch = v_epoch and v_live.nonce = v_nonce
      else exists (select 1 from {schema}.task t where t.task_id = (b->>'taskId')::uuid and t.run_id = v_run
        and t.session = v_session and t.epoch = v_epoch and t.nonce = v_nonce) end) then
    return json_build_object('outcome', 'fenced');
  end if;
  ${STREAM};
  if found then
    select * into p from {schema}.stream_part where run_id = v_run and name = s.name and writer = b->>'writer'
      and chapter = (b->>'chapter')::int4 order by number desc limit 1;
  end if;
  v_is_same := p.number is not null and p.generation = v_generation and p.attempt = v_attempt
    and p.part_id = (b->>'partId')::int8;
  if p.number is not null and not v_is_same and (v_generation, v_attempt) < (p.generation, p.attempt) then
    return json_build_object('outcome', 'fenced');
  end if;
  if v_is_same and v_n < p.batches then
    select first into v_offset from {schema}.stream_batch
      where run_id = v_run and name = s.name and part = p.number and n = v_n;
    return json_build_object('outcome', 'duplicate', 'offset', v_offset);
  end if;
  -- After a fail-over, what the attempt wants to keep may be lost.
  if v_n <> (case when v_is_same then p.batches else 0 end)
      or (not v_is_same and (b->>'keep')::int8 > coalesce(p.keep + p.items, 0)) then
    return json_build_object('outcome', 'gap');
  end if;
  if s.closed_in = v_generation then
    return json_build_object('outcome', 'closed');
  end if;
  if (case when s.name is null
      then (select count(*) from {schema}.stream where run_id = v_run) >= ${limits.streamsOfRun}
      else s.items + (b->>'items')::int4 > ${limits.streamItemsMax}
        or s.bytes + (b->>'bytes')::int8 > ${limits.streamBytesMax}
        or (not v_is_same and s.parts >= ${limits.streamPartsMax}) end) then
    return json_build_object('outcome', 'full');
  end if;
  v_offset := {schema}.write_batch(b, s, p, not v_is_same);
  return json_build_object('outcome', 'applied', 'offset', case when (b->>'items')::int4 > 0 then v_offset end);
end $$;

-- Locks in one order: a stream that may be new has no row to lock, then runs, tasks and streams. A turn of the run
-- locks its row against this, so what a turn reads of streams does not change meanwhile.
create or replace function {schema}.append(p_now int8, p json) returns json language plpgsql ${PLANS} as $$
declare v_out json[] := '{}'; b json; v_lock int8;
begin
  ${DURABLE}
  ${togetherWait('json_array_length(p)')}
  for v_lock in select distinct hashtextextended('{schema}:' || (value->>'runId') || E'\\n' || (value->>'stream'), 2) as lock
      from json_array_elements(p) where (value->>'n')::int4 = 0 order by lock loop
    perform pg_advisory_xact_lock(v_lock);
  end loop;
  perform 1 from {schema}.live
    where run_id = any(array(select (value->>'runId')::uuid from json_array_elements(p))) order by run_id for share;
  perform 1 from {schema}.task where task_id = any(array(
      select (value->>'taskId')::uuid from json_array_elements(p) where value->>'taskId' is not null))
    order by task_id for share;
  perform 1 from {schema}.stream s join (select distinct (value->>'runId')::uuid as run_id, value->>'stream' as name
      from json_array_elements(p)) o on s.run_id = o.run_id and s.name = o.name
    order by s.run_id, s.name for update of s;
  for b in select value from json_array_elements(p) loop
    v_out := v_out || {schema}.append_batch(b);
  end loop;
  return array_to_json(v_out);
end $$;

-- What a turn writes and closes.
create or replace function {schema}.write_streams(b json) returns void language plpgsql as $$
declare
  v_run uuid := (b->>'runId')::uuid; s {schema}.stream%rowtype; p {schema}.stream_part%rowtype;
begin
  if b->>'type' = 'close' then
    insert into {schema}.stream (run_id, name, items, bytes, parts, closed_in)
      values (v_run, b->>'stream', 0, 0, 0, (b->>'generation')::int4)
      on conflict (run_id, name) do update set closed_in = excluded.closed_in;
    return;
  end if;
  ${STREAM};
  select * into p from {schema}.stream_part where run_id = v_run and name = b->>'stream' and writer = b->>'writer'
    and chapter = (b->>'chapter')::int4 order by number desc limit 1;
  perform {schema}.write_batch(b, s, p, p.generation is distinct from (b->>'generation')::int4);
end $$;`
