-- The work: which session's agent is to do something, who does it, and what became of it.

-- All on the head, because its lock is the only lock of a session: whoever decides about a turn holds it.
alter table ledgerline.session_head
  add column ready_at  timestamptz,
  add column due_at    timestamptz,
  add column stop_at   timestamptz,
  add column worker_id text collate "C",
  add column stop_mode text,
  add constraint session_head_ready_whole check ((turn_state = 'ready') = (due_at is not null)),
  add constraint session_head_running_whole check (turn_state <> 'running' or (turn_id is not null and lease_until is not null)),
  add constraint session_head_waiting_whole check (turn_state <> 'waiting' or turn_id is not null),
  add constraint session_head_idle_whole check (turn_state <> 'idle' or turn_id is null),
  add constraint session_head_ended_idle check (state = 'open' or turn_state = 'idle'),
  add constraint session_head_stop check ((stop_mode is null) = (stop_at is null)),
  add constraint session_head_stop_mode check (stop_mode in ('stop', 'interrupt'));
comment on column ledgerline.session_head.turn_state is
  'What the session''s agent does: nothing, it is to be claimed, somebody runs it, it waits for a decision.';
comment on column ledgerline.session_head.turn_id is
  'The turn that is under way; null on a ready session whose next claim begins a new one.';
comment on column ledgerline.session_head.ready_at is
  'Since when there is work to claim: how long it waited is counted from here, whatever the debounce.';
comment on column ledgerline.session_head.due_at is
  'From when a ready session may be claimed: the end of the debounce, or of the pause after a failed attempt.';
comment on column ledgerline.session_head.worker_id is
  'Who runs it, for people to read; nothing is decided by it, since a restarted worker may have the same name.';
comment on column ledgerline.session_head.stop_mode is
  'What was asked of the running attempt: to stop, or to make room for a newer message.';
comment on column ledgerline.session_head.stop_at is
  'When that was asked; after a while it is done without the worker.';
comment on constraint session_head_ready_whole on ledgerline.session_head is
  'A ready session is found by when it is due, and no other is.';
comment on constraint session_head_running_whole on ledgerline.session_head is
  'What runs is some turn, and only for a time.';
comment on constraint session_head_waiting_whole on ledgerline.session_head is
  'What waits for a decision is some turn.';
comment on constraint session_head_idle_whole on ledgerline.session_head is
  'An idle session has no turn under way.';
comment on constraint session_head_ended_idle on ledgerline.session_head is
  'In a session that takes no more events nobody works.';
comment on constraint session_head_stop on ledgerline.session_head is
  'A stop has its time.';
comment on constraint session_head_stop_mode on ledgerline.session_head is
  'The closed union of ways to stop.';

-- Partial, so that a claim among a million idle sessions touches the ready ones alone. An append changes none of these
-- columns; the ones that do are a few a turn.
create index session_head_ready on ledgerline.session_head (due_at) where turn_state = 'ready';
comment on index ledgerline.session_head_ready is
  'What to claim, the longest due first.';
create index session_head_running on ledgerline.session_head (session) where turn_state = 'running';
comment on index ledgerline.session_head_running is
  'What may have lost its worker. Not by lease_until: every append moves that, and would no longer be a HOT update.';

create table ledgerline.client_request (
  created_at   timestamptz not null default clock_timestamp(),
  sequence     bigint,
  session      text collate "C" not null,
  request_key  text collate "C" not null,
  content_hash bytea not null,
  constraint client_request_pkey primary key (session, request_key)
);
comment on table ledgerline.client_request is
  'Which messages were taken, by their sender''s keys, so that one sent again is answered and not stored again; kept for 7 days.';
comment on column ledgerline.client_request.sequence is
  'The message''s event; null only inside the transaction that stores both.';
comment on column ledgerline.client_request.content_hash is
  'SHA-256 of what was sent: the same key with something else is a mistake of the sender, and told.';
comment on constraint client_request_pkey on ledgerline.client_request is
  'The tripwire against a message that is stored twice: the second insert waits for the first, and finds it.';
create index client_request_age on ledgerline.client_request (created_at);
comment on index ledgerline.client_request_age is
  'Finds what is old enough to go.';

create table ledgerline.turn (
  created_at      timestamptz not null default clock_timestamp(),
  deadline        timestamptz not null,
  ended_at        timestamptz,
  acknowledged_at timestamptz,
  time_allowed    interval    not null,
  fence           bigint      not null,
  settled_sequence bigint,
  attempts        integer     not null,
  total_attempts  integer     not null,
  max_attempts    integer     not null,
  session         text collate "C" not null,
  turn_id         text collate "C" not null,
  status          text        not null default 'open',
  policy          text        not null default 'retry',
  error           json,
  constraint turn_pkey primary key (session, turn_id),
  constraint turn_session_fkey foreign key (session) references ledgerline.session (session),
  constraint turn_status check (status in ('open', 'waiting', 'done', 'failed', 'cancelled', 'in_doubt')),
  constraint turn_policy check (policy in ('retry', 'once')),
  constraint turn_ended check ((status in ('open', 'waiting')) = (ended_at is null)),
  constraint turn_attempts check (0 <= attempts and attempts <= total_attempts)
);
comment on table ledgerline.turn is
  'One logical unit of an agent''s work, with an id that survives its attempts.';
comment on column ledgerline.turn.fence is
  'The number of its last attempt: who repeats the settling of just that attempt gets the first answer again.';
comment on column ledgerline.turn.attempts is
  'Tries without progress; a try that was given back does not count.';
comment on column ledgerline.turn.total_attempts is
  'All tries, which have a cap of their own.';
comment on column ledgerline.turn.deadline is
  'When it fails whatever its attempts do; apart from the lease, which only says that somebody is at it.';
comment on column ledgerline.turn.time_allowed is
  'How long it may take; the deadline is so far from its first claim, from a person''s decision, and from being tried anew.';
comment on column ledgerline.turn.error is
  'Of the last failed attempt: {"code", "message"}. json, because a message may hold what a text in Postgres refuses.';
comment on column ledgerline.turn.settled_sequence is
  'The event with which its last attempt was settled: completed, failed, cancelled, waiting or to be tried again.';
comment on column ledgerline.turn.acknowledged_at is
  'When a person took note of its failure; until then it is listed.';
comment on constraint turn_pkey on ledgerline.turn is
  'A turn is begun once.';
comment on constraint turn_session_fkey on ledgerline.turn is
  'No work without its session. It takes only a key lock on the cold row, which no append and no claim touches.';
comment on constraint turn_status on ledgerline.turn is
  'The closed union of what becomes of a turn.';
comment on constraint turn_policy on ledgerline.turn is
  'Whether a lost attempt is followed by another, or is the end.';
comment on constraint turn_ended on ledgerline.turn is
  'What ended has an end.';
comment on constraint turn_attempts on ledgerline.turn is
  'Tries without progress are tries.';
create index turn_attention on ledgerline.turn (created_at)
  where status in ('waiting', 'failed', 'in_doubt') and acknowledged_at is null;
comment on index ledgerline.turn_attention is
  'What waits for a person.';
create index turn_age on ledgerline.turn (ended_at) where status in ('done', 'cancelled') or acknowledged_at is not null;
comment on index ledgerline.turn_age is
  'Finds what is old enough to go.';

create table ledgerline.turn_request (
  sequence    bigint  not null,
  session     text collate "C" not null,
  turn_id     text collate "C",
  status      text    not null default 'pending',
  is_steering boolean not null default false,
  constraint turn_request_pkey primary key (session, sequence),
  constraint turn_request_session_fkey foreign key (session) references ledgerline.session (session),
  constraint turn_request_status check (status in ('pending', 'claimed', 'done', 'failed', 'cancelled')),
  constraint turn_request_claimed check (status <> 'pending' or turn_id is null)
);
comment on table ledgerline.turn_request is
  'A message''s wish for an answer, written in the message''s own transaction: none can be forgotten.';
comment on column ledgerline.turn_request.turn_id is
  'The turn whose input it is, from its first claim on, until a person has it run anew.';
comment on column ledgerline.turn_request.is_steering is
  'It may join the turn that runs, instead of waiting for the next.';
comment on constraint turn_request_pkey on ledgerline.turn_request is
  'A message asks once.';
comment on constraint turn_request_session_fkey on ledgerline.turn_request is
  'No work without its session.';
comment on constraint turn_request_status on ledgerline.turn_request is
  'The closed union of what becomes of a request.';
comment on constraint turn_request_claimed on ledgerline.turn_request is
  'What is pending is nobody''s yet.';
create index turn_request_pending on ledgerline.turn_request (session) where status = 'pending';
comment on index ledgerline.turn_request_pending is
  'What a claim binds, and whether a session has more to do.';
create index turn_request_turn on ledgerline.turn_request (session, turn_id) where turn_id is not null;
comment on index ledgerline.turn_request_turn is
  'The inputs of a turn.';

create table ledgerline.approval (
  required_sequence bigint not null,
  decided_sequence  bigint,
  session           text collate "C" not null,
  approval_id       text collate "C" not null,
  turn_id           text collate "C" not null,
  decision          text,
  decided_by        text,
  comment           json,
  constraint approval_pkey primary key (session, approval_id),
  constraint approval_turn_fkey foreign key (session, turn_id) references ledgerline.turn (session, turn_id) on delete cascade,
  constraint approval_decision check (decision in ('approved', 'denied')),
  constraint approval_decided_whole check ((decision is null) = (decided_sequence is null))
);
comment on table ledgerline.approval is
  'What a turn asked a person, and the first answer.';
comment on column ledgerline.approval.comment is
  'A JSON string, because a person''s words may hold what a text in Postgres refuses.';
comment on constraint approval_pkey on ledgerline.approval is
  'A question is asked once, however often its turn is tried.';
comment on constraint approval_turn_fkey on ledgerline.approval is
  'A question belongs to a turn, and goes with it.';
comment on constraint approval_decision on ledgerline.approval is
  'The closed union of answers.';
comment on constraint approval_decided_whole on ledgerline.approval is
  'An answer has its event.';
create index approval_turn on ledgerline.approval (session, turn_id);
comment on index ledgerline.approval_turn is
  'What a resumed turn gets told.';

-- The list of sessions is sorted by this cold row, so an append does not reorder it: what moves it is a message, and
-- whatever a person should see.
alter table ledgerline.session
  add column notable_sequence bigint not null default 0;
comment on column ledgerline.session.notable_sequence is
  'The last event that a person should see: how a turn ended, or what it asks. Unread is who has read less.';
comment on column ledgerline.session.last_activity_at is
  'When it was created, was sent a message, or had something notable: the order of the list.';
create index session_activity on ledgerline.session (last_activity_at desc, session desc) where deleted_at is null;
comment on index ledgerline.session_activity is
  'The list of all sessions, page by page.';
create index session_owner on ledgerline.session (owner, last_activity_at desc, session desc)
  where deleted_at is null and owner is not null;
comment on index ledgerline.session_owner is
  'The list of one owner''s sessions, page by page.';

create table ledgerline.read_position (
  updated_at timestamptz not null default clock_timestamp(),
  sequence   bigint      not null,
  session    text collate "C" not null,
  subject    text collate "C" not null,
  constraint read_position_pkey primary key (session, subject),
  constraint read_position_session_fkey foreign key (session) references ledgerline.session (session),
  constraint read_position_sequence_range check (sequence between 0 and 9007199254740991)
);
comment on table ledgerline.read_position is
  'How far each reader has read each session, by what the reader said.';
comment on constraint read_position_pkey on ledgerline.read_position is
  'One position for each reader of a session.';
comment on constraint read_position_session_fkey on ledgerline.read_position is
  'Nobody reads what does not exist.';
comment on constraint read_position_sequence_range on ledgerline.read_position is
  'Exact as a JavaScript number.';
