-- A session in two rows: the cold one that hardly changes, and the hot one that every append updates.

create table ledgerline.session (
  created_at       timestamptz not null default clock_timestamp(),
  last_activity_at timestamptz not null default clock_timestamp(),
  deleted_at       timestamptz,
  erased_at        timestamptz,
  session          text collate "C" not null,
  owner            text,
  metadata         json,
  constraint session_pkey primary key (session),
  constraint session_id_grammar check (session ~ '^[A-Za-z0-9_-]{1,128}$'),
  constraint session_erased_after_deleted check (erased_at is null or deleted_at is not null)
);
comment on table ledgerline.session is
  'What is known of a session apart from its events; cold, because metadata beside the head would make every append rewrite it.';
comment on column ledgerline.session.deleted_at is
  'When the tombstone was set; the row stays, so that the id is never used again.';
comment on column ledgerline.session.erased_at is
  'When the last event of a deleted session was erased; null behind a tombstone means that erasing is not finished.';
comment on constraint session_pkey on ledgerline.session is
  'A session is created once; a second create finds the first.';
comment on constraint session_id_grammar on ledgerline.session is
  'One NATS subject token and one field of a comma-separated list by construction, so no id can reach another''s.';
comment on constraint session_erased_after_deleted on ledgerline.session is
  'Only what was deleted is erased.';

create index session_unerased on ledgerline.session (deleted_at)
  where deleted_at is not null and erased_at is null;
comment on index ledgerline.session_unerased is
  'Finds the erasures that a crash left unfinished without reading every session; empty almost always.';

-- Every update of a head must be HOT: no index on a column that an append changes, and most of each page kept free for
-- the next versions of its rows. The young sessions, which are the busy ones, share a few pages; a flush may move every
-- head of a page, and the versions before it are pruned only when the flushes beside it are over. With half of each page
-- free and 1,000 busy sessions 92 in 100 updates were HOT; with seven tenths, all of them.
create table ledgerline.session_head (
  last_sequence bigint not null default 0,
  floor         bigint not null default 0,
  fence         bigint not null default 0,
  lease_until   timestamptz,
  session       text collate "C" not null,
  state         text not null default 'open',
  turn_state    text not null default 'idle',
  turn_id       text,
  constraint session_head_pkey primary key (session),
  constraint session_head_session_fkey foreign key (session) references ledgerline.session (session),
  constraint session_head_last_sequence_range check (last_sequence between 0 and 9007199254740991),
  constraint session_head_floor_range check (floor between 0 and last_sequence),
  constraint session_head_state check (state in ('open', 'closed', 'deleted')),
  constraint session_head_turn_state check (turn_state in ('idle', 'ready', 'running', 'waiting')),
  constraint session_head_fence_range check (fence between 0 and 9007199254740991)
) with (fillfactor = 30);
comment on table ledgerline.session_head is
  'The top of a session''s ledger and the only lock of the session; hot and narrow, one update an append.';
comment on column ledgerline.session_head.last_sequence is
  'The sequence of the newest event; the next one gets the next number, under this row''s lock.';
comment on column ledgerline.session_head.floor is
  'The highest sequence that retention or deletion removed; readers see only what is above it.';
comment on column ledgerline.session_head.state is
  'On the head and not on the cold row, so that an append tests it under the lock: an append that waited for a close must not commit after it.';
comment on column ledgerline.session_head.fence is
  'The number of the attempt that owns the running turn; a stale attempt''s append names a lower one and is refused.';
comment on column ledgerline.session_head.lease_until is
  'Until when the running attempt owns its turn; extended by its appends, and never indexed.';
comment on constraint session_head_pkey on ledgerline.session_head is
  'One head a session: whoever stamps, closes or deletes locks this row.';
comment on constraint session_head_session_fkey on ledgerline.session_head is
  'No head without its session; the id never changes, so appends pay nothing for it.';
comment on constraint session_head_last_sequence_range on ledgerline.session_head is
  'Every sequence is exact as a JavaScript number.';
comment on constraint session_head_floor_range on ledgerline.session_head is
  'Only what was stored can have been removed.';
comment on constraint session_head_state on ledgerline.session_head is
  'The closed union of states.';
comment on constraint session_head_turn_state on ledgerline.session_head is
  'The closed union of what a session''s agent is doing.';
comment on constraint session_head_fence_range on ledgerline.session_head is
  'Every attempt number is exact as a JavaScript number.';
