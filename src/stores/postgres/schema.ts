// The tables of the Postgres store. Each migration is applied once, in order, in one transaction with the others.
//
// `run` is written once. `live` has one narrow row for each run in progress, and only that row changes: at claim, where
// no indexed column changes and the update stays on its page, and at release. A turn inside a lease appends to `turn`
// and changes nothing else. A run that ends moves from `live` to `closed`, with its last turn.
//
// `{schema}` stands for the name of the schema. Times are milliseconds since 1970; 8640000000000000 means never. Bodies
// are JSON as text, because they are never searched.

export const migrations: readonly string[] = [
  `
  create table {schema}.lane (
    lane int4 primary key generated always as identity,
    kind text not null check (kind in ('run', 'task')),
    queue text not null,
    name text not null,
    priority int4 not null,
    unique (kind, queue, name, priority)
  );

  create table {schema}.session (
    session int8 primary key,
    worker text not null,
    beat int8 not null,
    expires_at int8 not null,
    about text not null
  ) with (fillfactor = 50);

  create table {schema}.run (
    run_id uuid primary key,
    lane int4 not null,
    workflow_id text,
    parent_id uuid,
    parent_generation int4,
    parent_key text,
    created_at int8 not null,
    digest text not null,
    input text not null,
    memo text
  );
  create index run_created on {schema}.run (created_at, run_id);
  create index run_workflow on {schema}.run (workflow_id, created_at) where workflow_id is not null;

  -- The newest run of each workflow id that is not just a run id.
  create table {schema}.name (workflow_id text primary key, run_id uuid not null);

  create table {schema}.live (
    run_id uuid primary key,
    lane int4 not null,
    at int8 not null,
    start_at int8 not null,
    session int8 not null default 0,
    epoch int4 not null default 0,
    nonce int8 not null default 0,
    deliveries int4 not null default 0,
    status text not null default 'pending',
    generation int4 not null default 1,
    seq int4 not null default 0,
    updated_at int8 not null,
    parked_build text,
    parked_failure text
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  create index live_due on {schema}.live (lane, at);
  create index live_parked on {schema}.live (lane) where parked_build is not null;

  create table {schema}.turn (
    run_id uuid not null,
    generation int4 not null,
    seq int4 not null,
    count int4 not null,
    turn_id int8 not null,
    epoch int4 not null,
    body text not null,
    primary key (run_id, generation, seq)
  );

  create table {schema}.closed (
    run_id uuid primary key,
    status text not null,
    closed_at int8 not null,
    generation int4 not null,
    seq int4 not null,
    count int4 not null,
    turn_id int8 not null,
    epoch int4 not null,
    body text not null
  );

  create table {schema}.inbox (
    id int8 generated always as identity,
    run_id uuid not null,
    message_id text not null,
    body text not null,
    primary key (run_id, message_id)
  );

  create table {schema}.task (
    task_id uuid primary key,
    run_id uuid not null,
    lane int4 not null,
    at int8 not null,
    session int8 not null default 0,
    epoch int4 not null default 0,
    nonce int8 not null default 0,
    deliveries int4 not null default 0,
    failed int4 not null default 0,
    failure text,
    body text not null
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  create index task_due on {schema}.task (lane, at);
  create index task_run on {schema}.task (run_id);
  `,
  `
  alter table {schema}.run rename column memo to extras;

  -- Attributes that runs are found by. One of text and number is set; kind says what it stands for.
  create table {schema}.attribute (
    run_id uuid not null,
    name text not null,
    kind text not null check (kind in ('text', 'number', 'boolean', 'instant')),
    text text collate "C",
    number float8,
    primary key (run_id, name)
  );
  create index attribute_text on {schema}.attribute (name, text) where text is not null;
  create index attribute_number on {schema}.attribute (name, kind, number) where number is not null;

  -- What running steps leave for their next attempt.
  create table {schema}.note (
    run_id uuid not null,
    generation int4 not null,
    key text not null,
    name text not null,
    body text not null,
    primary key (run_id, generation, key, name)
  );
  `,
  `
  -- Whether the run undoes what it did, and the build it is pinned to. Neither is in an index, so that a claim changes
  -- none.
  alter table {schema}.live add column compensating boolean not null default false, add column pin text;
  alter table {schema}.closed add column pin text;

  -- Small shared values, changed by compare and swap of the version.
  create table {schema}.record (
    space text collate "C" not null,
    key text collate "C" not null,
    version int8 not null,
    write_id int8 not null,
    body text not null,
    primary key (space, key)
  ) with (fillfactor = 50);
  `,
  `
  -- How long the last renewal is good for, and the latest instant that any was: the clock may be set back meanwhile.
  alter table {schema}.session add column ttl_ms int8 not null default 30000, add column latest int8 not null default 0;
  -- The last turn before the run was released.
  alter table {schema}.live add column turn_id int8 not null default 0;
  `,
  `
  -- Releases of pawl whose functions are installed, and the oldest version of the tables whose functions still work on
  -- these. A process of an older release learns from them that it must be upgraded.
  alter table {schema}.about add column oldest int4 not null default 0;
  create table {schema}.release (release text primary key, used_at int8 not null);

  -- Functions had the same names in all releases so far. A process that still calls one is told to stop, with a code
  -- that harms no run.
  do $do$
  declare f record;
  begin
    for f in select proname, pg_get_function_identity_arguments(oid) as given, pg_get_function_result(oid) as result
        from pg_proc where pronamespace = '{schema}'::regnamespace loop
      execute format('create or replace function {schema}.%I(%s) returns %s language plpgsql as %L', f.proname, f.given,
        f.result, $$begin raise exception 'the tables of schema {schema} were brought up to date by a newer pawl: upgrade pawl in this process'
          using errcode = '55000'; end$$);
    end loop;
  end $do$;

  -- Runs that were created together are claimed together: with half of a page free, all their second versions fit.
  alter table {schema}.live set (fillfactor = 45);
  alter table {schema}.task set (fillfactor = 45);
  -- Runs that the claimer's own build paused are skipped in the index.
  drop index {schema}.live_parked;
  create index live_parked on {schema}.live (lane, parked_build) where parked_build is not null;
  -- For lists of rare runs: those of a name, and those that failed.
  create index run_lane on {schema}.run (lane, created_at, run_id);
  create index closed_status on {schema}.closed (status, closed_at) where status <> 'completed';
  `,
  `
  -- The texts of attributes that are lists, in order. An empty list has one row without a text. A row of attribute
  -- hides a list of the same name, because releases that do not know lists may use these tables, too.
  create table {schema}.attribute_item (
    run_id uuid not null,
    name text not null,
    place int4 not null,
    text text collate "C",
    primary key (run_id, name, place)
  );
  create index attribute_item_text on {schema}.attribute_item (name, text);
  `,
  `
  -- What a waiting run waits for, and why a run is paused or failed; and the children of a run.
  alter table {schema}.live add column reason text collate "C";
  alter table {schema}.closed add column reason text collate "C";
  create index live_reason on {schema}.live (reason) where reason is not null;
  create index closed_reason on {schema}.closed (reason, closed_at) where reason is not null;
  create index live_pin on {schema}.live (pin) where pin is not null;
  create index closed_pin on {schema}.closed (pin, closed_at) where pin is not null;
  create index run_parent on {schema}.run (parent_id, created_at) where parent_id is not null;
  -- Ordered by code points, so that the index finds those that begin with a text.
  alter table {schema}.run alter column workflow_id type text collate "C";
  `,
  `
  -- With what a count joins, so that it reads no row.
  drop index {schema}.attribute_text;
  create index attribute_text on {schema}.attribute (name, text) include (kind, run_id) where text is not null;
  drop index {schema}.closed_status;
  create index closed_status on {schema}.closed (status, closed_at) include (run_id) where status <> 'completed';
  `,
  `
  -- Streams of runs. A part is what one attempt at a step wrote, or the code of the run in one generation; a batch is
  -- what it wrote at a time, from the offset of its first item.
  create table {schema}.stream (
    run_id uuid not null,
    name text collate "C" not null,
    items int8 not null,
    bytes int8 not null,
    parts int4 not null,
    closed_in int4 not null,
    primary key (run_id, name)
  ) with (fillfactor = 50);
  create table {schema}.stream_part (
    run_id uuid not null,
    name text collate "C" not null,
    number int4 not null,
    writer text collate "C" not null,
    chapter int4 not null,
    generation int4 not null,
    attempt int4 not null,
    part_id int8 not null,
    keep int8 not null,
    items int8 not null,
    batches int4 not null,
    primary key (run_id, name, number)
  ) with (fillfactor = 50);
  create index stream_part_writer on {schema}.stream_part (run_id, name, writer, chapter, number);
  create table {schema}.stream_batch (
    run_id uuid not null,
    name text collate "C" not null,
    first int8 not null,
    count int4 not null,
    part int4 not null,
    n int4 not null,
    body text not null,
    primary key (run_id, name, first)
  );
  `,
]

/** The oldest version of the tables whose functions still work on the newest. */
export const OLDEST_AT_WORK: number = 5
