-- Effects once: what a turn did, step by step, and what is to be delivered because of it.

alter table ledgerline.session_head
  add column outbox_sequence bigint not null default 0,
  add constraint session_head_outbox_sequence_range check (outbox_sequence between 0 and 9007199254740991);
comment on column ledgerline.session_head.outbox_sequence is
  'The number of the session''s newest delivery intent; the next one gets the next number, under this row''s lock.';
comment on constraint session_head_outbox_sequence_range on ledgerline.session_head is
  'Every delivery''s number is exact as a JavaScript number.';

create table ledgerline.step (
  started_at     timestamptz not null default clock_timestamp(),
  ended_at       timestamptz,
  key_expires_at timestamptz,
  fence          bigint      not null,
  step_index     integer     not null,
  reserved       integer     not null default 0,
  session        text collate "C" not null,
  turn_id        text collate "C" not null,
  kind           text        not null,
  state          text        not null,
  tool           text collate "C",
  effect         text,
  request_hash   bytea       not null,
  request        json,
  result         json,
  error          json,
  constraint step_pkey primary key (session, turn_id, step_index),
  constraint step_turn_fkey foreign key (session, turn_id) references ledgerline.turn (session, turn_id) on delete cascade,
  constraint step_index_range check (step_index >= 0 and reserved >= 0),
  constraint step_kind check (kind in ('model', 'tool', 'input')),
  constraint step_state check (state in ('started', 'done', 'failed', 'in_doubt')),
  constraint step_effect check (effect in ('read', 'idempotent', 'transactional', 'keyed', 'lookup', 'once')),
  constraint step_tool_whole check ((kind = 'tool') = (tool is not null) and (kind = 'tool') = (effect is not null)),
  constraint step_ended check ((state in ('done', 'failed')) = (ended_at is not null))
);
comment on table ledgerline.step is
  'The journal of a turn: one row for each model answer, tool call and input, at an index that never means anything else.';
comment on column ledgerline.step.step_index is
  'Counted by the journal, from 0; a model''s answer reserves those of the calls that it asks for.';
comment on column ledgerline.step.reserved is
  'How many indices behind a model''s own are those of its calls.';
comment on column ledgerline.step.fence is
  'The attempt that began it: a row of an older attempt that is still started has lost its owner.';
comment on column ledgerline.step.key_expires_at is
  'Until when the provider knows the key of a keyed step again; behind it nobody can tell whether the call happened.';
comment on column ledgerline.step.request_hash is
  'SHA-256 over RFC 8785 JSON of the intent: another intent at the same index is refused, whatever the model says now.';
comment on column ledgerline.step.request is
  'The intent itself, for people to read.';
comment on constraint step_pkey on ledgerline.step is
  'The tripwire against a second effect at one step: the second insert waits for the first, and finds its result.';
comment on constraint step_turn_fkey on ledgerline.step is
  'A journal is of a turn, and goes with it.';
comment on constraint step_index_range on ledgerline.step is
  'Indices count from 0.';
comment on constraint step_kind on ledgerline.step is
  'The closed union of what a turn does.';
comment on constraint step_state on ledgerline.step is
  'The closed union of what becomes of a step.';
comment on constraint step_effect on ledgerline.step is
  'The closed union of what a tool promises about its effect.';
comment on constraint step_tool_whole on ledgerline.step is
  'A tool call names its tool and its class, and nothing else does.';
comment on constraint step_ended on ledgerline.step is
  'What is settled has its time.';
create index step_doubt on ledgerline.step (started_at) where state = 'in_doubt';
comment on index ledgerline.step_doubt is
  'What a person must resolve.';

create table ledgerline.outbox (
  created_at      timestamptz not null default clock_timestamp(),
  published_at    timestamptz,
  next_attempt_at timestamptz,
  dead_at         timestamptz,
  outbox_sequence bigint      not null,
  stream_sequence bigint,
  attempts        integer     not null default 0,
  step_index      integer     not null,
  shard           smallint    not null,
  session         text collate "C" not null,
  turn_id         text collate "C" not null,
  topic           text collate "C" not null,
  payload         json        not null,
  last_error      json,
  constraint outbox_pkey primary key (session, outbox_sequence),
  constraint outbox_identity unique (session, turn_id, step_index, topic),
  constraint outbox_sequence_range check (outbox_sequence between 1 and 9007199254740991),
  constraint outbox_fate check (published_at is null or dead_at is null)
);
comment on table ledgerline.outbox is
  'What is to be delivered, written in the transaction of the effect that asks for it, and numbered without a hole in each session.';
comment on column ledgerline.outbox.shard is
  'Which relay publishes it: one at a time for a session, so that its deliveries never overtake one another.';
comment on column ledgerline.outbox.stream_sequence is
  'Where the broker said it is stored; what reconciles compares.';
comment on column ledgerline.outbox.dead_at is
  'It cannot be published: a tombstone with its number was, so that consumers'' arithmetic stays whole.';
comment on constraint outbox_pkey on ledgerline.outbox is
  'A number is given once.';
comment on constraint outbox_identity on ledgerline.outbox is
  'A step delivers once to a topic, however often it is tried.';
comment on constraint outbox_sequence_range on ledgerline.outbox is
  'Counted from 1, and exact as a JavaScript number.';
comment on constraint outbox_fate on ledgerline.outbox is
  'A delivery is published or given up.';
create index outbox_unpublished on ledgerline.outbox (shard, session, outbox_sequence) where published_at is null and dead_at is null;
comment on index ledgerline.outbox_unpublished is
  'What a relay has before it: the first of each session.';
create index outbox_age on ledgerline.outbox (created_at);
comment on index ledgerline.outbox_age is
  'Finds what is old enough to go, and what to compare with the stream.';

create table ledgerline.relay (
  alive_until timestamptz not null,
  relay_id    text collate "C" not null,
  constraint relay_pkey primary key (relay_id)
);
comment on table ledgerline.relay is
  'The relays that are there, with shards or without, so that each knows how many are its fair share.';
comment on constraint relay_pkey on ledgerline.relay is
  'A relay counts once.';

create table ledgerline.relay_shard (
  lease_until   timestamptz,
  reconciled_at timestamptz,
  fence         bigint   not null default 0,
  shard         smallint not null,
  relay_id      text collate "C",
  constraint relay_shard_pkey primary key (shard)
);
comment on table ledgerline.relay_shard is
  'Who publishes the deliveries of which sessions, and until when.';
comment on column ledgerline.relay_shard.reconciled_at is
  'When it was last compared with the stream: whoever has the shard goes on from there, however often relays restart.';
comment on constraint relay_shard_pkey on ledgerline.relay_shard is
  'A shard has one owner.';
insert into ledgerline.relay_shard (shard) select generate_series(0, 15);

create table ledgerline.inbox (
  applied_at      timestamptz not null default clock_timestamp(),
  outbox_sequence bigint      not null,
  consumer        text collate "C" not null,
  session         text collate "C" not null,
  identity        text collate "C" not null,
  constraint inbox_pkey primary key (consumer, session, outbox_sequence)
);
comment on table ledgerline.inbox is
  'What a consumer has applied, in the transaction of its own effect: whatever comes again is told from what is new.';
comment on constraint inbox_pkey on ledgerline.inbox is
  'The tripwire against a delivery that is applied twice.';
create index inbox_age on ledgerline.inbox (applied_at);
comment on index ledgerline.inbox_age is
  'Finds what is old enough to go.';

create table ledgerline.inbox_mark (
  outbox_sequence bigint not null,
  consumer        text collate "C" not null,
  session         text collate "C" not null,
  constraint inbox_mark_pkey primary key (consumer, session)
);
comment on table ledgerline.inbox_mark is
  'How far a consumer has come in each session: the next number, and no other, moves it.';
comment on constraint inbox_mark_pkey on ledgerline.inbox_mark is
  'One mark for each consumer of a session.';

create table ledgerline.inbox_dead (
  died_at         timestamptz not null default clock_timestamp(),
  outbox_sequence bigint      not null,
  consumer        text collate "C" not null,
  session         text collate "C" not null,
  identity        text collate "C" not null,
  payload         json,
  error           json,
  constraint inbox_dead_pkey primary key (consumer, session, outbox_sequence, identity)
);
comment on table ledgerline.inbox_dead is
  'Deliveries that a consumer could not apply and was told to pass, for a person to look at.';
comment on constraint inbox_dead_pkey on ledgerline.inbox_dead is
  'A delivery dies once for a consumer.';
