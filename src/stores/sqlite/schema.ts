// The tables of the SQLite store, and how a file gets them. Each migration is applied once, in order.
//
// `run` is written once. `live` holds one narrow row per unfinished run, and it is the only row that changes: at
// claim and at release. Turns are appended. A finished run moves from `live` to `closed`, with its last turn.

export const migrations: readonly string[] = [
  `
  create table lane (
    lane integer primary key,
    kind text not null check (kind in ('run', 'task')),
    queue text not null,
    name text not null,
    priority integer not null,
    unique (kind, queue, name, priority)
  ) strict;

  create table session (
    session integer primary key,
    worker text not null,
    beat integer not null,
    expires_at integer not null,
    about text not null
  ) strict;

  create table run (
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
  create index run_created on run (created_at, run_id);
  create index run_workflow on run (workflow_id, created_at) where workflow_id is not null;

  -- The newest run of each workflow id that is not simply a run id.
  create table name (workflow_id text primary key, run_id text not null) strict, without rowid;

  create table live (
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
  create index live_due on live (lane, at);
  create index live_parked on live (lane) where parked_build is not null;

  create table turn (
    run_id text not null,
    generation integer not null,
    seq integer not null,
    count integer not null,
    turn_id integer not null,
    epoch integer not null,
    body text not null,
    primary key (run_id, generation, seq)
  ) strict, without rowid;

  create table closed (
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

  create table inbox (
    id integer primary key autoincrement,
    run_id text not null,
    message_id text not null,
    body text not null,
    unique (run_id, message_id)
  ) strict;

  create table task (
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
  create index task_due on task (lane, at);
  create index task_run on task (run_id);
  `,
  `
  alter table run rename column memo to extras;

  -- What runs are found by. One of text and number is set; kind says what it stands for.
  create table attribute (
    run_id text not null,
    name text not null,
    kind text not null check (kind in ('text', 'number', 'boolean', 'instant')),
    text text,
    number real,
    primary key (run_id, name)
  ) strict, without rowid;
  create index attribute_text on attribute (name, text) where text is not null;
  create index attribute_number on attribute (name, kind, number) where number is not null;

  -- What steps under way leave behind for their next attempt.
  create table note (
    run_id text not null,
    generation integer not null,
    key text not null,
    name text not null,
    body text not null,
    primary key (run_id, generation, key, name)
  ) strict, without rowid;
  `,
  `
  -- Whether it undoes what it did, and the build whose workers it is for.
  alter table live add column compensating integer not null default 0;
  alter table live add column pin text;
  alter table closed add column pin text;

  -- Small shared values, changed by whoever knows the version.
  create table record (
    space text not null,
    key text not null,
    version integer not null,
    write_id integer not null,
    body text not null,
    primary key (space, key)
  ) strict, without rowid;
  `,
  `
  -- How long each renewal is good for, and the latest any of them was: a clock may be set back meanwhile.
  alter table session add column ttl_ms integer not null default 30000;
  alter table session add column latest integer not null default 0;
  -- The last turn when the run was released.
  alter table live add column turn_id integer not null default 0;
  `,
]
