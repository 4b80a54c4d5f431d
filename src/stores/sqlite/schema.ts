// The tables of the SQLite store. Each migration is applied once, in order.
//
// `run` is written once. `live` has one narrow row for each run in progress, and only that row changes: at claim and at
// release. Turns are appended. A run that ends moves from `live` to `closed`, with its last turn.

export const migrations: readonly string[] = [
  `
  create table pawl_lane (
    lane integer primary key,
    kind text not null check (kind in ('run', 'task')),
    queue text not null,
    name text not null,
    priority integer not null,
    unique (kind, queue, name, priority)
  ) strict;

  create table pawl_session (
    session integer primary key,
    worker text not null,
    beat integer not null,
    expires_at integer not null,
    about text not null
  ) strict;

  create table pawl_run (
    run_id text primary key,
    lane integer not null,
    workflow_id text,
    parent_id text,
    parent_generation integer,
    parent_key text,
    created_at integer not null,
    digest text not null,
    input text not null,
    memo text
  ) strict, without rowid;
  create index pawl_run_created on pawl_run (created_at, run_id);
  create index pawl_run_workflow on pawl_run (workflow_id, created_at) where workflow_id is not null;

  -- The newest run of each workflow id that is not just a run id.
  create table pawl_name (workflow_id text primary key, run_id text not null) strict, without rowid;

  create table pawl_live (
    run_id text primary key,
    lane integer not null,
    at integer not null,
    start_at integer not null,
    session integer not null default 0,
    epoch integer not null default 0,
    nonce integer not null default 0,
    deliveries integer not null default 0,
    status text not null default 'pending',
    generation integer not null default 1,
    seq integer not null default 0,
    updated_at integer not null,
    parked_build text,
    parked_failure text
  ) strict, without rowid;
  create index pawl_live_due on pawl_live (lane, at);
  create index pawl_live_parked on pawl_live (lane) where parked_build is not null;

  create table pawl_turn (
    run_id text not null,
    generation integer not null,
    seq integer not null,
    count integer not null,
    turn_id integer not null,
    epoch integer not null,
    body text not null,
    primary key (run_id, generation, seq)
  ) strict, without rowid;

  create table pawl_closed (
    run_id text primary key,
    status text not null,
    closed_at integer not null,
    generation integer not null,
    seq integer not null,
    count integer not null,
    turn_id integer not null,
    epoch integer not null,
    body text not null
  ) strict, without rowid;

  create table pawl_inbox (
    id integer primary key autoincrement,
    run_id text not null,
    message_id text not null,
    body text not null,
    unique (run_id, message_id)
  ) strict;

  create table pawl_task (
    task_id text primary key,
    run_id text not null,
    lane integer not null,
    at integer not null,
    session integer not null default 0,
    epoch integer not null default 0,
    nonce integer not null default 0,
    deliveries integer not null default 0,
    failed integer not null default 0,
    failure text,
    body text not null
  ) strict, without rowid;
  create index pawl_task_due on pawl_task (lane, at);
  create index pawl_task_run on pawl_task (run_id);
  `,
  `
  alter table pawl_run rename column memo to extras;

  -- Attributes that runs are found by. One of text and number is set; kind says what it stands for.
  create table pawl_attribute (
    run_id text not null,
    name text not null,
    kind text not null check (kind in ('text', 'number', 'boolean', 'instant')),
    text text,
    number real,
    primary key (run_id, name)
  ) strict, without rowid;
  create index pawl_attribute_text on pawl_attribute (name, text) where text is not null;
  create index pawl_attribute_number on pawl_attribute (name, kind, number) where number is not null;

  -- What running steps leave for their next attempt.
  create table pawl_note (
    run_id text not null,
    generation integer not null,
    key text not null,
    name text not null,
    body text not null,
    primary key (run_id, generation, key, name)
  ) strict, without rowid;
  `,
  `
  -- Whether the run undoes what it did, and the build it is pinned to.
  alter table pawl_live add column compensating integer not null default 0;
  alter table pawl_live add column pin text;
  alter table pawl_closed add column pin text;

  -- Small shared values, changed by compare and swap of the version.
  create table pawl_record (
    space text not null,
    key text not null,
    version integer not null,
    write_id integer not null,
    body text not null,
    primary key (space, key)
  ) strict, without rowid;
  `,
  `
  -- How long the last renewal is good for, and the latest instant that any was: the clock may be set back meanwhile.
  alter table pawl_session add column ttl_ms integer not null default 30000;
  alter table pawl_session add column latest integer not null default 0;
  -- The last turn before the run was released.
  alter table pawl_live add column turn_id integer not null default 0;
  `,
  `
  -- Held rows are apart from due ones, and found by their session. Runs that are pinned to other builds, or paused by
  -- the claimer's own, are skipped in the index.
  drop index pawl_live_due;
  create index pawl_live_due on pawl_live (session, lane, pin, at);
  create index pawl_live_grave on pawl_live (lane, pin, at) where session = 0 and deliveries > 1;
  drop index pawl_live_parked;
  create index pawl_live_parked on pawl_live (lane, pin, parked_build) where parked_build is not null and session = 0;
  drop index pawl_task_due;
  create index pawl_task_due on pawl_task (session, lane, at);

  -- Runs by name, newest first, and those that did not complete.
  create index pawl_run_lane on pawl_run (lane, created_at);
  alter table pawl_closed add column created_at integer not null default 0;
  update pawl_closed set created_at = (select run.created_at from pawl_run run where run.run_id = pawl_closed.run_id);
  create index pawl_closed_status on pawl_closed (status, created_at) where status <> 'completed';
  `,
  `
  -- The texts of attributes that are lists, in order. An empty list has one row without a text.
  create table pawl_attribute_item (
    run_id text not null,
    name text not null,
    place integer not null,
    text text,
    primary key (run_id, name, place)
  ) strict, without rowid;
  create index pawl_attribute_item_text on pawl_attribute_item (name, text);
  `,
  `
  -- What a waiting run waits for, and why a run is paused or failed; and the children of a run.
  alter table pawl_live add column reason text;
  alter table pawl_closed add column reason text;
  create index pawl_live_reason on pawl_live (reason) where reason is not null;
  create index pawl_closed_reason on pawl_closed (reason, created_at) where reason is not null;
  create index pawl_closed_pin on pawl_closed (pin, created_at) where pin is not null;
  create index pawl_run_parent on pawl_run (parent_id, created_at) where parent_id is not null;
  `,
  `
  -- Streams of runs. A part is what one attempt at a step wrote, or the code of the run in one generation; a batch is
  -- what it wrote at a time, from the offset of its first item.
  create table pawl_stream (
    run_id text not null,
    name text not null,
    items integer not null,
    bytes integer not null,
    parts integer not null,
    closed_in integer not null,
    primary key (run_id, name)
  ) strict, without rowid;

  create table pawl_stream_part (
    run_id text not null,
    name text not null,
    number integer not null,
    writer text not null,
    chapter integer not null,
    generation integer not null,
    attempt integer not null,
    part_id integer not null,
    keep integer not null,
    items integer not null,
    batches integer not null,
    primary key (run_id, name, number)
  ) strict, without rowid;
  create index pawl_stream_part_writer on pawl_stream_part (run_id, name, writer, chapter, number);

  create table pawl_stream_batch (
    run_id text not null,
    name text not null,
    first integer not null,
    count integer not null,
    part integer not null,
    n integer not null,
    body text not null,
    primary key (run_id, name, first)
  ) strict;
  `,
]
