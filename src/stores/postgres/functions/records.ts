// Shared values: compare and swap by version.
import { DURABLE, PLANS } from './transaction.ts'

export const records = `
create or replace function {schema}.put_record(o json) returns json language plpgsql as $$
declare
  v_there {schema}.record%rowtype; v_version int8 := (o->>'version')::int8; v_write int8 := (o->>'writeId')::int8;
begin
  select * into v_there from {schema}.record where space = o->>'space' and key = o->>'key';
  -- Sent again, because its answer was lost.
  if v_there.write_id = v_write and v_there.version = v_version + 1 then
    return json_build_object('outcome', 'applied');
  end if;
  if coalesce(v_there.version, 0) <> v_version then
    return json_build_object('outcome', 'conflict', 'records', case when v_there.key is null then '[]'::json else
      json_build_array(json_build_object('key', v_there.key, 'version', v_there.version, 'body', v_there.body)) end);
  end if;
  insert into {schema}.record (space, key, version, write_id, body)
    values (o->>'space', o->>'key', v_version + 1, v_write, o->>'body')
    on conflict (space, key) do update
    set version = excluded.version, write_id = excluded.write_id, body = excluded.body;
  return json_build_object('outcome', 'applied');
end $$;

create or replace function {schema}.records(p_now int8, p json) returns json language plpgsql ${PLANS} as $$
declare v_out json[] := '{}'; o json; v_lock int8;
begin
  ${DURABLE}
  -- In one order, so that two calls never wait for each other. A record that does not exist has no row to lock.
  for v_lock in select distinct hashtextextended('{schema}:' || (value->>'space') || E'\\n' || (value->>'key'), 1) as lock
      from json_array_elements(p) where value->>'type' = 'put' order by lock loop
    perform pg_advisory_xact_lock(v_lock);
  end loop;
  for o in select value from json_array_elements(p) loop
    if o->>'type' = 'put' then
      v_out := v_out || {schema}.put_record(o);
    elsif o->>'type' = 'get' then
      v_out := v_out || json_build_object('records', (
        select json_agg(json_build_object('key', r.key, 'version', r.version, 'body', r.body))
        from {schema}.record r where r.space = o->>'space' and r.key = o->>'key'));
    else
      v_out := v_out || json_build_object('records', (
        select json_agg(json_build_object('key', f.key, 'version', f.version, 'body', f.body) order by f.key)
        from (select r.key, r.version, r.body from {schema}.record r
          where r.space = o->>'space' and r.key > coalesce(o->>'after', '') order by r.key limit (o->>'limit')::int4) f));
    end if;
  end loop;
  return array_to_json(v_out);
end $$;`
