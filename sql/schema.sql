-- What the migrations make, as the catalog tells it. Generated; do not edit.

create schema ledgerline;

-- What a turn asked a person, and the first answer.
create table ledgerline.approval (
  required_sequence bigint not null,
  decided_sequence bigint,
  session text collate "C" not null,
  approval_id text collate "C" not null,
  turn_id text collate "C" not null,
  decision text,
  decided_by text,
  -- A JSON string, because a person's words may hold what a text in Postgres refuses.
  comment json,
  -- A question is asked once, however often its turn is tried.
  constraint approval_pkey PRIMARY KEY (session, approval_id),
  -- An answer has its event.
  constraint approval_decided_whole CHECK (((decision IS NULL) = (decided_sequence IS NULL))),
  -- The closed union of answers.
  constraint approval_decision CHECK ((decision = ANY (ARRAY['approved'::text, 'denied'::text]))),
  -- A question belongs to a turn, and goes with it.
  constraint approval_turn_fkey FOREIGN KEY (session, turn_id) REFERENCES ledgerline.turn(session, turn_id) ON DELETE CASCADE
);

-- What a resumed turn gets told.
CREATE INDEX approval_turn ON ledgerline.approval USING btree (session, turn_id);

-- Which messages were taken, by their sender's keys, so that one sent again is answered and not stored again; kept for 7 days.
create table ledgerline.client_request (
  created_at timestamp with time zone not null default clock_timestamp(),
  -- The message's event; null only inside the transaction that stores both.
  sequence bigint,
  session text collate "C" not null,
  request_key text collate "C" not null,
  -- SHA-256 of what was sent: the same key with something else is a mistake of the sender, and told.
  content_hash bytea not null,
  -- The tripwire against a message that is stored twice: the second insert waits for the first, and finds it.
  constraint client_request_pkey PRIMARY KEY (session, request_key)
);

-- Finds what is old enough to go.
CREATE INDEX client_request_age ON ledgerline.client_request USING btree (created_at);

-- The ledger itself: what a session said, numbered 1 to its head without a hole.
create table ledgerline.event (
  sequence bigint not null,
  -- By this server's clock after the head was locked, in milliseconds: never read for order, which is the sequence's.
  created_at timestamp with time zone not null,
  producer_sequence bigint,
  attempt bigint,
  -- The payload's size in UTF-8, so that a page can be cut by bytes before a single payload is fetched.
  bytes integer not null,
  session text collate "C" not null,
  -- Goes into frames and JSON without escaping; its grammar is checked before the insert, because a regular expression here doubled an insert's time.
  type text collate "C" not null,
  producer_id text collate "C",
  turn_id text collate "C",
  -- json and not jsonb: the text leaves as it came, with its NULs, half emojis, key order and long numbers. No JSON operator may touch it, since some of them fail on such texts.
  payload json not null,
  -- The W3C's trace context of the append or the message that brought it: on the first event of an append alone, since the others are told by their place. Never part of what readers get.
  traceparent text collate "C",
  -- A sequence is given once; pages are ranges of this index.
  constraint event_pkey PRIMARY KEY (session, sequence),
  -- A producer's counter means nothing without the producer.
  constraint event_producer_whole CHECK (((producer_id IS NULL) = (producer_sequence IS NULL))),
  -- Counted from 1, and exact as a JavaScript number.
  constraint event_sequence_range CHECK (((sequence >= 1) AND (sequence <= '9007199254740991'::bigint))),
  -- An attempt is an attempt at a turn.
  constraint event_turn_whole CHECK (((turn_id IS NULL) = (attempt IS NULL)))
);

-- Answers whether a producer's counter is stored already, and is the tripwire should an append ever slip past that question.
CREATE UNIQUE INDEX event_producer_once ON ledgerline.event USING btree (session, producer_id, producer_sequence) WHERE (producer_id IS NOT NULL);

-- What a consumer has applied, in the transaction of its own effect: whatever comes again is told from what is new.
create table ledgerline.inbox (
  applied_at timestamp with time zone not null default clock_timestamp(),
  outbox_sequence bigint not null,
  consumer text collate "C" not null,
  session text collate "C" not null,
  identity text collate "C" not null,
  -- The tripwire against a delivery that is applied twice.
  constraint inbox_pkey PRIMARY KEY (consumer, session, outbox_sequence)
);

-- Finds what is old enough to go.
CREATE INDEX inbox_age ON ledgerline.inbox USING btree (applied_at);

-- Deliveries that a consumer could not apply and was told to pass, for a person to look at.
create table ledgerline.inbox_dead (
  died_at timestamp with time zone not null default clock_timestamp(),
  outbox_sequence bigint not null,
  consumer text collate "C" not null,
  session text collate "C" not null,
  identity text collate "C" not null,
  payload json,
  error json,
  -- A delivery dies once for a consumer.
  constraint inbox_dead_pkey PRIMARY KEY (consumer, session, outbox_sequence, identity)
);

-- How far a consumer has come in each session: the next number, and no other, moves it.
create table ledgerline.inbox_mark (
  outbox_sequence bigint not null,
  consumer text collate "C" not null,
  session text collate "C" not null,
  -- One mark for each consumer of a session.
  constraint inbox_mark_pkey PRIMARY KEY (consumer, session)
);

-- One row for each file of sql/ that was applied; a release refuses a database that is further than its own files.
create table ledgerline.migration (
  number integer not null,
  name text not null,
  applied_at timestamp with time zone not null default clock_timestamp(),
  -- A file is applied once.
  constraint migration_pkey PRIMARY KEY (number)
);

-- What is to be delivered, written in the transaction of the effect that asks for it, and numbered without a hole in each session.
create table ledgerline.outbox (
  created_at timestamp with time zone not null default clock_timestamp(),
  published_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  -- It cannot be published: a tombstone with its number was, so that consumers' arithmetic stays whole.
  dead_at timestamp with time zone,
  outbox_sequence bigint not null,
  -- Where the broker said it is stored; what reconciles compares.
  stream_sequence bigint,
  attempts integer not null default 0,
  step_index integer not null,
  -- Which relay publishes it: one at a time for a session, so that its deliveries never overtake one another.
  shard smallint not null,
  session text collate "C" not null,
  turn_id text collate "C" not null,
  topic text collate "C" not null,
  payload json not null,
  last_error json,
  -- When a person took note that it is dead: it is listed and counted no more, and goes when it is old.
  acknowledged_at timestamp with time zone,
  -- A number is given once.
  constraint outbox_pkey PRIMARY KEY (session, outbox_sequence),
  -- A delivery is published or given up.
  constraint outbox_fate CHECK (((published_at IS NULL) OR (dead_at IS NULL))),
  -- A step delivers once to a topic, however often it is tried.
  constraint outbox_identity UNIQUE (session, turn_id, step_index, topic),
  -- Counted from 1, and exact as a JavaScript number.
  constraint outbox_sequence_range CHECK (((outbox_sequence >= 1) AND (outbox_sequence <= '9007199254740991'::bigint)))
);

-- Finds what is old enough to go, and what to compare with the stream.
CREATE INDEX outbox_age ON ledgerline.outbox USING btree (created_at);

-- What is not out, the longest first, among all that is.
CREATE INDEX outbox_attention ON ledgerline.outbox USING btree (created_at) WHERE ((published_at IS NULL) AND (acknowledged_at IS NULL));

-- What a relay has before it: the first of each session.
CREATE INDEX outbox_unpublished ON ledgerline.outbox USING btree (shard, session, outbox_sequence) WHERE ((published_at IS NULL) AND (dead_at IS NULL));

-- How far each reader has read each session, by what the reader said.
create table ledgerline.read_position (
  updated_at timestamp with time zone not null default clock_timestamp(),
  sequence bigint not null,
  session text collate "C" not null,
  subject text collate "C" not null,
  -- One position for each reader of a session.
  constraint read_position_pkey PRIMARY KEY (session, subject),
  -- Exact as a JavaScript number.
  constraint read_position_sequence_range CHECK (((sequence >= 0) AND (sequence <= '9007199254740991'::bigint))),
  -- Nobody reads what does not exist.
  constraint read_position_session_fkey FOREIGN KEY (session) REFERENCES ledgerline.session(session)
);

-- The relays that are there, with shards or without, so that each knows how many are its fair share.
create table ledgerline.relay (
  alive_until timestamp with time zone not null,
  relay_id text collate "C" not null,
  -- A relay counts once.
  constraint relay_pkey PRIMARY KEY (relay_id)
);

-- Who publishes the deliveries of which sessions, and until when.
create table ledgerline.relay_shard (
  lease_until timestamp with time zone,
  -- When it was last compared with the stream: whoever has the shard goes on from there, however often relays restart.
  reconciled_at timestamp with time zone,
  fence bigint not null default 0,
  shard smallint not null,
  relay_id text collate "C",
  -- A shard has one owner.
  constraint relay_shard_pkey PRIMARY KEY (shard)
);

-- Tokens that no longer hold, by their id, by whose they are, or for a session; every gateway has a copy in memory.
create table ledgerline.revocation (
  -- Counted up under the lock of whoever revokes, in the order of the commits: a gateway that has seen one has seen all below it.
  number bigint not null,
  -- Tokens that were issued later are not meant, unless one is named by its id.
  revoked_at timestamp with time zone not null,
  -- When no token is alive any more that it is about, so that the table stays as small as what it is for.
  expires_at timestamp with time zone not null,
  kind text not null,
  value text collate "C" not null,
  -- What is new to a gateway is read from where it was.
  constraint revocation_pkey PRIMARY KEY (number),
  -- A revocation holds for some time.
  constraint revocation_expires CHECK ((expires_at > revoked_at)),
  -- The closed union of what can be revoked.
  constraint revocation_kind CHECK ((kind = ANY (ARRAY['jti'::text, 'sub'::text, 'session'::text]))),
  -- Revoking again moves the one that is there, so that repeats fill no table.
  constraint revocation_once UNIQUE (kind, value)
);

-- Finds what is over, and counts what is not.
CREATE INDEX revocation_age ON ledgerline.revocation USING btree (expires_at);

-- What is known of a session apart from its events; cold, because metadata beside the head would make every append rewrite it.
create table ledgerline.session (
  created_at timestamp with time zone not null default clock_timestamp(),
  -- When it was created, was sent a message, or had something notable: the order of the list.
  last_activity_at timestamp with time zone not null default clock_timestamp(),
  -- When the tombstone was set; the row stays, so that the id is never used again.
  deleted_at timestamp with time zone,
  -- When the last event of a deleted session was erased; null behind a tombstone means that erasing is not finished.
  erased_at timestamp with time zone,
  session text collate "C" not null,
  owner text,
  metadata json,
  -- The last event that a person should see: how a turn ended, or what it asks. Unread is who has read less.
  notable_sequence bigint not null default 0,
  -- A session is created once; a second create finds the first.
  constraint session_pkey PRIMARY KEY (session),
  -- Only what was deleted is erased.
  constraint session_erased_after_deleted CHECK (((erased_at IS NULL) OR (deleted_at IS NOT NULL))),
  -- One NATS subject token and one field of a comma-separated list by construction, so no id can reach another's.
  constraint session_id_grammar CHECK ((session ~ '^[A-Za-z0-9_-]{1,128}$'::text))
);

-- The list of all sessions, page by page.
CREATE INDEX session_activity ON ledgerline.session USING btree (last_activity_at DESC, session DESC) WHERE (deleted_at IS NULL);

-- The list of one owner's sessions, page by page.
CREATE INDEX session_owner ON ledgerline.session USING btree (owner, last_activity_at DESC, session DESC) WHERE ((deleted_at IS NULL) AND (owner IS NOT NULL));

-- Finds the erasures that a crash left unfinished without reading every session; empty almost always.
CREATE INDEX session_unerased ON ledgerline.session USING btree (deleted_at) WHERE ((deleted_at IS NOT NULL) AND (erased_at IS NULL));

-- The top of a session's ledger and the only lock of the session; hot and narrow, one update an append.
create table ledgerline.session_head (
  -- The sequence of the newest event; the next one gets the next number, under this row's lock.
  last_sequence bigint not null default 0,
  -- The highest sequence that retention or deletion removed; readers see only what is above it.
  floor bigint not null default 0,
  -- The number of the attempt that owns the running turn; a stale attempt's append names a lower one and is refused.
  fence bigint not null default 0,
  -- Until when the running attempt owns its turn; extended by its appends, and never indexed.
  lease_until timestamp with time zone,
  session text collate "C" not null,
  -- On the head and not on the cold row, so that an append tests it under the lock: an append that waited for a close must not commit after it.
  state text not null default 'open'::text,
  -- What the session's agent does: nothing, it is to be claimed, somebody runs it, it waits for a decision.
  turn_state text not null default 'idle'::text,
  -- The turn that is under way; null on a ready session whose next claim begins a new one.
  turn_id text,
  -- Since when there is work to claim: how long it waited is counted from here, whatever the debounce.
  ready_at timestamp with time zone,
  -- From when a ready session may be claimed: the end of the debounce, or of the pause after a failed attempt.
  due_at timestamp with time zone,
  -- When that was asked; after a while it is done without the worker.
  stop_at timestamp with time zone,
  -- Who runs it, for people to read; nothing is decided by it, since a restarted worker may have the same name.
  worker_id text collate "C",
  -- What was asked of the running attempt: to stop, or to make room for a newer message.
  stop_mode text,
  -- The number of the session's newest delivery intent; the next one gets the next number, under this row's lock.
  outbox_sequence bigint not null default 0,
  -- One head a session: whoever stamps, closes or deletes locks this row.
  constraint session_head_pkey PRIMARY KEY (session),
  -- In a session that takes no more events nobody works.
  constraint session_head_ended_idle CHECK (((state = 'open'::text) OR (turn_state = 'idle'::text))),
  -- Every attempt number is exact as a JavaScript number.
  constraint session_head_fence_range CHECK (((fence >= 0) AND (fence <= '9007199254740991'::bigint))),
  -- Only what was stored can have been removed.
  constraint session_head_floor_range CHECK (((floor >= 0) AND (floor <= last_sequence))),
  -- An idle session has no turn under way.
  constraint session_head_idle_whole CHECK (((turn_state <> 'idle'::text) OR (turn_id IS NULL))),
  -- Every sequence is exact as a JavaScript number.
  constraint session_head_last_sequence_range CHECK (((last_sequence >= 0) AND (last_sequence <= '9007199254740991'::bigint))),
  -- Every delivery's number is exact as a JavaScript number.
  constraint session_head_outbox_sequence_range CHECK (((outbox_sequence >= 0) AND (outbox_sequence <= '9007199254740991'::bigint))),
  -- A ready session is found by when it is due, and no other is.
  constraint session_head_ready_whole CHECK (((turn_state = 'ready'::text) = (due_at IS NOT NULL))),
  -- What runs is some turn, and only for a time.
  constraint session_head_running_whole CHECK (((turn_state <> 'running'::text) OR ((turn_id IS NOT NULL) AND (lease_until IS NOT NULL)))),
  -- No head without its session; the id never changes, so appends pay nothing for it.
  constraint session_head_session_fkey FOREIGN KEY (session) REFERENCES ledgerline.session(session),
  -- The closed union of states.
  constraint session_head_state CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text, 'deleted'::text]))),
  -- A stop has its time.
  constraint session_head_stop CHECK (((stop_mode IS NULL) = (stop_at IS NULL))),
  -- The closed union of ways to stop.
  constraint session_head_stop_mode CHECK ((stop_mode = ANY (ARRAY['stop'::text, 'interrupt'::text]))),
  -- The closed union of what a session's agent is doing.
  constraint session_head_turn_state CHECK ((turn_state = ANY (ARRAY['idle'::text, 'ready'::text, 'running'::text, 'waiting'::text]))),
  -- What waits for a decision is some turn.
  constraint session_head_waiting_whole CHECK (((turn_state <> 'waiting'::text) OR (turn_id IS NOT NULL)))
) with (fillfactor=30);

-- What to claim, the longest due first.
CREATE INDEX session_head_ready ON ledgerline.session_head USING btree (due_at) WHERE (turn_state = 'ready'::text);

-- What may have lost its worker. Not by lease_until: every append moves that, and would no longer be a HOT update.
CREATE INDEX session_head_running ON ledgerline.session_head USING btree (session) WHERE (turn_state = 'running'::text);

-- The journal of a turn: one row for each model answer, tool call and input, at an index that never means anything else.
create table ledgerline.step (
  started_at timestamp with time zone not null default clock_timestamp(),
  ended_at timestamp with time zone,
  -- Until when the provider knows the key of a keyed step again; behind it nobody can tell whether the call happened.
  key_expires_at timestamp with time zone,
  -- The attempt that began it: a row of an older attempt that is still started has lost its owner.
  fence bigint not null,
  -- Counted by the journal, from 0; a model's answer reserves those of the calls that it asks for.
  step_index integer not null,
  -- How many indices behind a model's own are those of its calls.
  reserved integer not null default 0,
  session text collate "C" not null,
  turn_id text collate "C" not null,
  kind text not null,
  state text not null,
  tool text collate "C",
  effect text,
  -- SHA-256 over RFC 8785 JSON of the intent: another intent at the same index is refused, whatever the model says now.
  request_hash bytea not null,
  -- The intent itself, for people to read.
  request json,
  result json,
  error json,
  -- The tripwire against a second effect at one step: the second insert waits for the first, and finds its result.
  constraint step_pkey PRIMARY KEY (session, turn_id, step_index),
  -- The closed union of what a tool promises about its effect.
  constraint step_effect CHECK ((effect = ANY (ARRAY['read'::text, 'idempotent'::text, 'transactional'::text, 'keyed'::text, 'lookup'::text, 'once'::text]))),
  -- What is settled has its time.
  constraint step_ended CHECK (((state = ANY (ARRAY['done'::text, 'failed'::text])) = (ended_at IS NOT NULL))),
  -- Indices count from 0.
  constraint step_index_range CHECK (((step_index >= 0) AND (reserved >= 0))),
  -- The closed union of what a turn does.
  constraint step_kind CHECK ((kind = ANY (ARRAY['model'::text, 'tool'::text, 'input'::text]))),
  -- The closed union of what becomes of a step.
  constraint step_state CHECK ((state = ANY (ARRAY['started'::text, 'done'::text, 'failed'::text, 'in_doubt'::text]))),
  -- A tool call names its tool and its class, and nothing else does.
  constraint step_tool_whole CHECK ((((kind = 'tool'::text) = (tool IS NOT NULL)) AND ((kind = 'tool'::text) = (effect IS NOT NULL)))),
  -- A journal is of a turn, and goes with it.
  constraint step_turn_fkey FOREIGN KEY (session, turn_id) REFERENCES ledgerline.turn(session, turn_id) ON DELETE CASCADE
);

-- What a person must resolve.
CREATE INDEX step_doubt ON ledgerline.step USING btree (started_at) WHERE (state = 'in_doubt'::text);

-- What is not settled of one turn, whatever the length of its journal.
CREATE INDEX step_open ON ledgerline.step USING btree (session, turn_id, step_index) WHERE (state = ANY (ARRAY['started'::text, 'in_doubt'::text]));

-- One logical unit of an agent's work, with an id that survives its attempts.
create table ledgerline.turn (
  created_at timestamp with time zone not null default clock_timestamp(),
  -- When it fails whatever its attempts do; apart from the lease, which only says that somebody is at it.
  deadline timestamp with time zone not null,
  ended_at timestamp with time zone,
  -- When a person took note of its failure; until then it is listed.
  acknowledged_at timestamp with time zone,
  -- How long it may take; the deadline is so far from its first claim, from a person's decision, and from being tried anew.
  time_allowed interval not null,
  -- The number of its last attempt: who repeats the settling of just that attempt gets the first answer again.
  fence bigint not null,
  -- The event with which its last attempt was settled: completed, failed, cancelled, waiting or to be tried again.
  settled_sequence bigint,
  -- Tries without progress; a try that was given back does not count.
  attempts integer not null,
  -- All tries, which have a cap of their own.
  total_attempts integer not null,
  max_attempts integer not null,
  session text collate "C" not null,
  turn_id text collate "C" not null,
  status text not null default 'open'::text,
  policy text not null default 'retry'::text,
  -- Of the last failed attempt: {"code", "message"}. json, because a message may hold what a text in Postgres refuses.
  error json,
  -- A turn is begun once.
  constraint turn_pkey PRIMARY KEY (session, turn_id),
  -- Tries without progress are tries.
  constraint turn_attempts CHECK (((0 <= attempts) AND (attempts <= total_attempts))),
  -- What ended has an end.
  constraint turn_ended CHECK (((status = ANY (ARRAY['open'::text, 'waiting'::text])) = (ended_at IS NULL))),
  -- Whether a lost attempt is followed by another, or is the end.
  constraint turn_policy CHECK ((policy = ANY (ARRAY['retry'::text, 'once'::text]))),
  -- No work without its session. It takes only a key lock on the cold row, which no append and no claim touches.
  constraint turn_session_fkey FOREIGN KEY (session) REFERENCES ledgerline.session(session),
  -- The closed union of what becomes of a turn.
  constraint turn_status CHECK ((status = ANY (ARRAY['open'::text, 'waiting'::text, 'done'::text, 'failed'::text, 'cancelled'::text, 'in_doubt'::text])))
);

-- Finds what is old enough to go.
CREATE INDEX turn_age ON ledgerline.turn USING btree (ended_at) WHERE ((status = ANY (ARRAY['done'::text, 'cancelled'::text])) OR (acknowledged_at IS NOT NULL));

-- What waits for a person.
CREATE INDEX turn_attention ON ledgerline.turn USING btree (created_at) WHERE ((status = ANY (ARRAY['waiting'::text, 'failed'::text, 'in_doubt'::text])) AND (acknowledged_at IS NULL));

-- A message's wish for an answer, written in the message's own transaction: none can be forgotten.
create table ledgerline.turn_request (
  sequence bigint not null,
  session text collate "C" not null,
  -- The turn whose input it is, from its first claim on, until a person has it run anew.
  turn_id text collate "C",
  status text not null default 'pending'::text,
  -- It may join the turn that runs, instead of waiting for the next.
  is_steering boolean not null default false,
  -- A message asks once.
  constraint turn_request_pkey PRIMARY KEY (session, sequence),
  -- What is pending is nobody's yet.
  constraint turn_request_claimed CHECK (((status <> 'pending'::text) OR (turn_id IS NULL))),
  -- No work without its session.
  constraint turn_request_session_fkey FOREIGN KEY (session) REFERENCES ledgerline.session(session),
  -- The closed union of what becomes of a request.
  constraint turn_request_status CHECK ((status = ANY (ARRAY['pending'::text, 'claimed'::text, 'done'::text, 'failed'::text, 'cancelled'::text])))
);

-- What a claim binds, and whether a session has more to do.
CREATE INDEX turn_request_pending ON ledgerline.turn_request USING btree (session) WHERE (status = 'pending'::text);

-- The inputs of a turn.
CREATE INDEX turn_request_turn ON ledgerline.turn_request USING btree (session, turn_id) WHERE (turn_id IS NOT NULL);

-- Sends a receipt ahead of the commit: a client that then loses the connection knows which transaction to ask about, and what it stored if it committed.
CREATE OR REPLACE FUNCTION ledgerline.announce(receipt text)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
begin
  raise notice '%', receipt;
  return receipt;
end
$function$;

-- A claimed head's attempt begins: the turn with its inputs is made, or its tries are counted, and turn.started is stored.
CREATE OR REPLACE FUNCTION ledgerline.begin_attempt(session_id text, turn text, attempt bigint, is_new boolean, turn_policy text, tries integer, allowed interval, said text, most integer, most_bytes integer, OUT number bigint, OUT at text, OUT told text, OUT attempts integer, OUT max_attempts integer, OUT deadline text, OUT remaining_ms double precision, OUT messages text)
 RETURNS record
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_variable
declare
  inputs bigint[];
  has_row boolean := false;
  until  timestamptz;
  now_at constant timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  -- The claim has locked the head in a statement before this one. Each statement here has a snapshot that is younger.
  if not is_new then
    update ledgerline.turn t
       set fence = attempt, attempts = t.attempts + 1, total_attempts = t.total_attempts + 1, status = 'open'
     where t.session = session_id and t.turn_id = turn
    returning t.attempts, t.max_attempts, t.deadline into attempts, max_attempts, until;
    has_row := found;
    if has_row then
      select array_agg(r.sequence order by r.sequence) into inputs
        from ledgerline.turn_request r where r.session = session_id and r.turn_id = turn;
    else
      -- One bad row must not keep all others from being claimed: the turn that the head names has no row, so it begins now.
      update ledgerline.turn_request r set status = 'pending', turn_id = null
       where r.session = session_id and r.turn_id = turn and r.status = 'claimed';
    end if;
  end if;
  if not has_row then
    -- It takes what is pending now, and never anything more: its inputs are the same at every attempt.
    inputs := ledgerline.bind_requests(session_id, turn, false, most, most_bytes);
    if inputs is null then
      -- Nothing makes a session ready without a request; one bad row must not keep all others from being claimed.
      update ledgerline.session_head h
         set turn_state = 'idle', turn_id = null, lease_until = null, worker_id = null
       where h.session = session_id and h.turn_id = turn and h.fence = attempt and h.turn_state = 'running';
      return;
    end if;
    insert into ledgerline.turn as t (session, turn_id, policy, fence, attempts, total_attempts, max_attempts, time_allowed, deadline)
    values (session_id, turn, turn_policy, attempt, 1, 1, tries, allowed, clock_timestamp() + allowed)
    returning t.attempts, t.max_attempts, t.deadline into attempts, max_attempts, until;
  end if;

  -- Each attempt announces itself, so that what an older one had said is known to be abandoned.
  told := ',"try":' || attempts || ',"inputs":[' || coalesce(array_to_string(inputs, ','), '') || ']}';
  with head as (
    update ledgerline.session_head h set last_sequence = h.last_sequence + 1
     where h.session = session_id and h.turn_id = turn and h.fence = attempt and h.turn_state = 'running'
    returning h.last_sequence
  )
  insert into ledgerline.event as e (session, sequence, type, payload, bytes, created_at, turn_id, attempt)
  select session_id, h.last_sequence, 'turn.started', (left(said, -1) || told)::json, octet_length(said) - 1 + octet_length(told),
         now_at, turn, attempt
    from head h
  returning e.sequence into number;
  if not found then
    raise exception 'attempt % does not own the turn % of %', attempt, turn, session_id;
  end if;

  select coalesce(json_agg(json_build_object('sequence', e.sequence, 'at', ledgerline.utc_text(e.created_at),
                                             'data', e.payload::text, 'traceparent', e.traceparent) order by e.sequence), '[]')::text
    into messages
    from ledgerline.event e where e.session = session_id and e.sequence = any (inputs);
  at := ledgerline.utc_text(now_at);
  deadline := ledgerline.utc_text(until);
  remaining_ms := ceil(extract(epoch from until - clock_timestamp()) * 1000);
end
$function$;

-- Attempts begin on heads that were taken: the turns with their inputs are made, or their tries are counted, and each turn.started is stored.
CREATE OR REPLACE FUNCTION ledgerline.begin_attempts(heads ledgerline.session_head[], is_new boolean[], turn_policy text[], tries integer[], allowed_ms bigint[], most integer, most_bytes integer)
 RETURNS text[]
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_variable
declare
  going_on text[] := '{}';  -- the sessions whose turn had begun before
  begun    text[];          -- and those whose turn begins now
  answers  text[];
  now_at timestamptz;
begin
  -- The statement that locked the heads was before this one. Each statement here has a snapshot that is younger.
  if false = any (is_new) then
    with counted as (
      update ledgerline.turn t
         set fence = h.fence, attempts = t.attempts + 1, total_attempts = t.total_attempts + 1, status = 'open'
        from unnest(heads) with ordinality h
       where not is_new[h.ordinality] and t.session = h.session and t.turn_id = h.turn_id
      returning t.session
    )
    select coalesce(array_agg(c.session), '{}') into going_on from counted c;
    -- One bad row must not keep all others from being claimed: a turn that a head names and that has no row begins now.
    update ledgerline.turn_request r set status = 'pending', turn_id = null
      from unnest(heads) with ordinality h
     where not is_new[h.ordinality] and h.session <> all (going_on)
       and r.session = h.session and r.turn_id = h.turn_id and r.status = 'claimed';
  end if;

  -- A turn takes what is pending now, and never anything more: its inputs are the same at every attempt.
  select coalesce(array_agg(b.session) filter (where b.inputs is not null), '{}') into begun
    from (select h.session, ledgerline.bind_requests(h.session, h.turn_id, false, most, most_bytes) as inputs
            from unnest(heads) h where h.session <> all (going_on)) b;
  insert into ledgerline.turn (session, turn_id, policy, fence, attempts, total_attempts, max_attempts, time_allowed, deadline)
  select h.session, h.turn_id, turn_policy[h.ordinality], h.fence, 1, 1, tries[h.ordinality], a.allowed, clock_timestamp() + a.allowed
    from unnest(heads) with ordinality h
   cross join lateral (select allowed_ms[h.ordinality] * interval '1 millisecond' as allowed) a
   where h.session = any (begun);

  if cardinality(going_on) + cardinality(begun) < cardinality(heads) then
    -- Nothing makes a session ready without a request; one bad row must not keep all others from being claimed. Nobody saw its number.
    update ledgerline.session_head h
       set turn_state = 'idle', turn_id = null, lease_until = null, worker_id = null, last_sequence = h.last_sequence - 1
      from unnest(heads) x
     where h.session = x.session and x.session <> all (going_on || begun);
  end if;

  -- Each attempt announces itself, so that what an older one had said is known to be abandoned.
  now_at := date_trunc('milliseconds', clock_timestamp());
  with started as (
    insert into ledgerline.event as e (session, sequence, type, payload, bytes, created_at, turn_id, attempt)
    select h.session, h.last_sequence, 'turn.started', d.data::json, octet_length(d.data), now_at, h.turn_id, h.fence
      from unnest(heads) h
      join ledgerline.turn t on t.session = h.session and t.turn_id = h.turn_id
     cross join lateral (
       select '{"turn":"' || h.turn_id || '","attempt":' || h.fence || ',"try":' || t.attempts
              || ',"inputs":[' || coalesce(string_agg(r.sequence::text, ',' order by r.sequence), '') || ']}' as data
         from ledgerline.turn_request r where r.session = h.session and r.turn_id = h.turn_id) d
     where h.session = any (going_on || begun)
    returning e.session, e.payload::text as data
  )
  select array_agg(case when s.session is not null then json_build_object(
             'number', h.last_sequence, 'at', ledgerline.utc_text(now_at), 'data', s.data,
             'attempts', t.attempts, 'maxAttempts', t.max_attempts, 'deadline', ledgerline.utc_text(t.deadline),
             'remainingMs', ceil(extract(epoch from t.deadline - clock_timestamp()) * 1000),
             'messages', m.messages)::text end order by h.ordinality)
    into answers
    from unnest(heads) with ordinality h
    left join started s on s.session = h.session
    left join ledgerline.turn t on t.session = s.session and t.turn_id = h.turn_id
    left join lateral (
      select coalesce(json_agg(json_build_object('sequence', e.sequence, 'at', ledgerline.utc_text(e.created_at),
                                                 'data', e.payload::text, 'traceparent', e.traceparent) order by e.sequence), '[]') as messages
        from ledgerline.turn_request r
        join ledgerline.event e on e.session = r.session and e.sequence = r.sequence
       where r.session = t.session and r.turn_id = t.turn_id) m on true;
  return answers;
end
$function$;

-- Makes the pending requests a turn's inputs, the oldest first and no more than a worker can be handed; null when there are none.
CREATE OR REPLACE FUNCTION ledgerline.bind_requests(session_id text, turn text, only_steering boolean, most integer, most_bytes integer)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  inputs bigint[];
begin
  -- The size is looked up for each: a join might walk the session's events.
  with bound as (
    update ledgerline.turn_request set status = 'claimed', turn_id = turn
     where session = session_id and status = 'pending' and (is_steering or not only_steering)
       and sequence <= (
         select max(b.sequence)
           from (select p.sequence, row_number() over oldest as place, sum(p.bytes) over oldest as bytes_so_far
                   from (select r.sequence, (select e.bytes from ledgerline.event e
                                              where e.session = r.session and e.sequence = r.sequence) as bytes
                           from ledgerline.turn_request r
                          where r.session = session_id and r.status = 'pending' and (r.is_steering or not only_steering)
                          order by r.sequence limit most) p
                 window oldest as (order by p.sequence rows unbounded preceding)) b
          where b.place = 1 or b.bytes_so_far <= most_bytes)
    returning sequence
  )
  select array_agg(b.sequence order by b.sequence) into inputs from bound b;
  return inputs;
end
$function$;

-- Takes sessions that are due for all who ask at once, no more than each asked for, and begins an attempt on each.
CREATE OR REPLACE FUNCTION ledgerline.claim_turns(place integer[], worker text[], turn_policy text[], tries integer[], allowed_ms bigint[], lease interval, most integer, most_bytes integer, put_off interval)
 RETURNS TABLE(claim integer, session text, turn text, attempt bigint, is_new boolean, ready_ms double precision, begun text, failure text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_variable
declare
  heads ledgerline.session_head[];
  claims int[];
  are_new boolean[];
  ready_since timestamptz[];
  answers text[];
  failures text[] := '{}';
begin
  -- 1. Take heads that are due, the longest due first. One that somebody holds is passed by: whoever holds it makes it ready again,
  --    or takes it. The time is the statement's: a volatile clock could not walk the index. Nothing that the locks guard is
  --    looked at in this statement: its snapshot is older than they are.
  with due as materialized (
    select d.session, d.turn_id, d.ready_at, row_number() over (order by d.due_at) as line
      from (select h.session, h.turn_id, h.ready_at, h.due_at
              from ledgerline.session_head h
             where h.turn_state = 'ready' and h.due_at <= statement_timestamp()
             order by h.due_at
             limit cardinality(place)
               for no key update skip locked) d
  ), taken as (
    update ledgerline.session_head h
       set turn_state = 'running', turn_id = coalesce(h.turn_id, gen_random_uuid()::text), fence = h.fence + 1,
           last_sequence = h.last_sequence + 1, lease_until = clock_timestamp() + lease,
           worker_id = worker[place[due.line]], ready_at = null, due_at = null
      from due
     where h.session = due.session
    returning h as head, due.line, due.turn_id is null as is_new, due.ready_at
  )
  select array_agg(t.head order by t.line), array_agg(place[t.line] order by t.line),
         array_agg(t.is_new order by t.line), array_agg(t.ready_at order by t.line)
    into heads, claims, are_new, ready_since
    from taken t;
  if heads is null then
    return;
  end if;

  -- 2. Their attempts begin, in statements that see what was committed before the locks.
  if put_off is null then
    answers := ledgerline.begin_attempts(
      heads, are_new,
      array(select turn_policy[c.claim] from unnest(claims) with ordinality c (claim, i) order by c.i),
      array(select tries[c.claim] from unnest(claims) with ordinality c (claim, i) order by c.i),
      array(select allowed_ms[c.claim] from unnest(claims) with ordinality c (claim, i) order by c.i),
      most, most_bytes);
  else
    for i in 1 .. cardinality(heads) loop
      begin
        answers[i] := (ledgerline.begin_attempts(
          heads[i:i], are_new[i:i], array[turn_policy[claims[i]]], array[tries[claims[i]]], array[allowed_ms[claims[i]]],
          most, most_bytes))[1];
      exception when others then
        failures[i] := sqlerrm;
        update ledgerline.session_head h
           set turn_state = 'ready', turn_id = case when not are_new[i] then h.turn_id end, last_sequence = h.last_sequence - 1,
               lease_until = null, worker_id = null, ready_at = ready_since[i], due_at = clock_timestamp() + put_off
         where h.session = (heads[i]).session;
      end;
    end loop;
  end if;

  return query
    select claims[h.ordinality], h.session, h.turn_id, h.fence, are_new[h.ordinality],
           extract(epoch from clock_timestamp() - ready_since[h.ordinality])::float8 * 1000,
           answers[h.ordinality], failures[h.ordinality]
      from unnest(heads) with ordinality h;
end
$function$;

-- An attempt completes its turn, if that needs no judgement: nobody holds the head, the attempt owns it, and no call was left open.
CREATE OR REPLACE FUNCTION ledgerline.complete_turn(session_id text, turn text, attempt bigint, event_type text[], event_payload text[], event_trace text[], OUT first bigint, OUT at text, OUT told text, OUT is_pending boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_variable
declare
  size constant int := cardinality(event_type);
  head bigint;
  is_open boolean;
  now_at timestamptz;
begin
  if cardinality(event_payload) <> size or cardinality(event_trace) <> size then
    raise exception using errcode = '22023', message = 'complete_turn: lists of unequal length';
  end if;

  -- 1. Lock the head, if the attempt owns it and nobody holds it. Nothing that the lock guards is looked at in this
  --    statement: its snapshot is older than the lock.
  select h.last_sequence into head
    from ledgerline.session_head h
   where h.session = session_id and h.turn_id = turn and h.fence = attempt and h.turn_state = 'running' and h.state = 'open'
     for no key update skip locked;
  if not found then
    return;
  end if;

  -- 2. A call that was left open is for whoever can judge it.
  select exists (select from ledgerline.step s where s.session = session_id and s.turn_id = turn and s.state = 'started'),
         exists (select from ledgerline.turn_request r where r.session = session_id and r.status = 'pending')
    into is_open, is_pending;
  if is_open then
    return;
  end if;

  -- 3. Its requests end with it, and it tells which they were.
  with answered as (
    update ledgerline.turn_request r set status = 'done'
     where r.session = session_id and r.turn_id = turn
    returning r.sequence
  )
  select ',"inputs":[' || coalesce(string_agg(a.sequence::text, ',' order by a.sequence), '') || ']}' into told from answered a;

  -- 4. The events, the head, the turn, and the session's place in the list.
  now_at := date_trunc('milliseconds', clock_timestamp());
  insert into ledgerline.event (session, sequence, type, payload, bytes, created_at, turn_id, attempt, traceparent)
  select session_id, head + e.i, e.type, e.data::json, octet_length(e.data), now_at, turn, attempt, e.traceparent
    from (select u.i, u.type, u.traceparent, case when u.i < size then u.payload else left(u.payload, -1) || told end as data
            from unnest(event_type, event_payload, event_trace) with ordinality u (type, payload, traceparent, i)) e;
  update ledgerline.session_head h
     set last_sequence = head + size, turn_id = null, lease_until = null, worker_id = null, stop_mode = null, stop_at = null,
         turn_state = case when is_pending then 'ready' else 'idle' end,
         ready_at = case when is_pending then clock_timestamp() end,
         due_at = case when is_pending then clock_timestamp() end
   where h.session = session_id;
  update ledgerline.turn t
     set status = 'done', ended_at = clock_timestamp(), acknowledged_at = null, error = null, settled_sequence = head + size
   where t.session = session_id and t.turn_id = turn;
  update ledgerline.session s
     set last_activity_at = clock_timestamp(), notable_sequence = greatest(s.notable_sequence, head + size)
   where s.session = session_id;
  first := head + 1;
  at := ledgerline.utc_text(now_at);
end
$function$;

-- Attempts complete their turns where that needs no judgement: nobody holds the head, the attempt owns it, and no call was left open.
CREATE OR REPLACE FUNCTION ledgerline.complete_turns(session_id text[], turn text[], attempt bigint[], event_type text[], event_payload text[], event_trace text[])
 RETURNS TABLE(place integer, first bigint, at text, told text, is_pending boolean)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_variable
declare
  size constant int := cardinality(session_id);
  locked int[]; locked_head bigint[];
  -- those that end, each list in one order
  ended int[]; ended_session text[]; ended_turn text[]; head bigint[]; last bigint[]; has_more boolean[]; ended_told text[];
  now_at timestamptz;
begin
  if cardinality(turn) <> size or cardinality(attempt) <> size or cardinality(event_type) <> size
     or cardinality(event_payload) <> size or cardinality(event_trace) <> size then
    raise exception using errcode = '22023', message = 'complete_turns: lists of unequal length';
  end if;

  -- 1. Lock the heads that their attempts own and that nobody holds, each found by its key and not among all that run. Nothing that
  --    a lock guards is looked at in this statement: its snapshot is older than the lock.
  select array_agg(u.place), array_agg(l.last_sequence) into locked, locked_head
    from unnest(session_id, turn, attempt) with ordinality u (session, turn, attempt, place)
   cross join lateral (
     select h.last_sequence
       from ledgerline.session_head h
      where h.session = u.session and h.turn_id = u.turn and h.fence = u.attempt and h.turn_state = 'running' and h.state = 'open'
        for no key update skip locked) l;
  if locked is null then
    return;
  end if;

  -- 2. A call that was left open is for whoever can judge it.
  select array_agg(l.place), array_agg(session_id[l.place]), array_agg(turn[l.place]), array_agg(l.head),
         array_agg(l.head + cardinality(string_to_array(event_type[l.place], ','))),
         array_agg(exists (select from ledgerline.turn_request r where r.session = session_id[l.place] and r.status = 'pending'))
    into ended, ended_session, ended_turn, head, last, has_more
    from unnest(locked, locked_head) l (place, head)
   where not exists (select from ledgerline.step s
                      where s.session = session_id[l.place] and s.turn_id = turn[l.place] and s.state = 'started');
  if ended is null then
    return;
  end if;

  -- 3. Their requests end with them, and each tells which they were.
  with answered as (
    update ledgerline.turn_request r set status = 'done'
      from unnest(ended_session, ended_turn) u (session, turn)
     where r.session = u.session and r.turn_id = u.turn
    returning r.session, r.sequence
  )
  select array_agg(',"inputs":[' || coalesce(a.inputs, '') || ']}' order by u.i) into ended_told
    from unnest(ended_session) with ordinality u (session, i)
    left join (select d.session, string_agg(d.sequence::text, ',' order by d.sequence) as inputs
                 from answered d group by d.session) a on a.session = u.session;

  -- 4. The events, the heads, the turns, and the sessions' places in the list.
  now_at := date_trunc('milliseconds', clock_timestamp());
  insert into ledgerline.event (session, sequence, type, payload, bytes, created_at, turn_id, attempt, traceparent)
  select u.session, u.head + e.i, e.type, d.data::json, octet_length(d.data), now_at, u.turn, attempt[u.place], e.traceparent
    from unnest(ended, ended_session, ended_turn, head, last, ended_told) u (place, session, turn, head, last, told)
   cross join lateral unnest(string_to_array(event_type[u.place], ','), string_to_array(event_payload[u.place], E'\n'),
                             string_to_array(event_trace[u.place], ',', '*')) with ordinality e (type, payload, traceparent, i)
   cross join lateral (select case when u.head + e.i < u.last then e.payload else left(e.payload, -1) || u.told end as data) d;
  update ledgerline.session_head h
     set last_sequence = u.last, turn_id = null, lease_until = null, worker_id = null, stop_mode = null, stop_at = null,
         turn_state = case when u.has_more then 'ready' else 'idle' end,
         ready_at = case when u.has_more then clock_timestamp() end,
         due_at = case when u.has_more then clock_timestamp() end
    from unnest(ended_session, last, has_more) u (session, last, has_more)
   where h.session = u.session;
  update ledgerline.turn t
     set status = 'done', ended_at = clock_timestamp(), acknowledged_at = null, error = null, settled_sequence = u.last
    from unnest(ended_session, ended_turn, last) u (session, turn, last)
   where t.session = u.session and t.turn_id = u.turn;
  update ledgerline.session s
     set last_activity_at = clock_timestamp(), notable_sequence = greatest(s.notable_sequence, u.last)
    from unnest(ended_session, last) u (session, last)
   where s.session = u.session;

  return query
    select u.place, u.head + 1, ledgerline.utc_text(now_at), u.told, u.has_more
      from unnest(ended, head, ended_told, has_more) u (place, head, told, has_more);
end
$function$;

-- What a producer's append repeats: null when none of its counters is stored, else duplicate, conflict or overlap with where.
CREATE OR REPLACE FUNCTION ledgerline.repeat_of(session_id text, producer text, counter bigint, event_type text[], event_payload text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  size constant int := cardinality(event_type);
  stored record;
begin
  select count(*) as events,
         min(e.sequence) as first,
         max(e.sequence) as last,
         bool_and(e.type = event_type[(e.producer_sequence - counter)::int + 1]
              and e.payload::text = event_payload[(e.producer_sequence - counter)::int + 1]) as is_same,
         max(e.sequence) - min(e.sequence) = size - 1 as is_together
    into stored
    from ledgerline.event e
   where e.session = session_id
     and e.producer_id = producer
     and e.producer_sequence between counter and counter + size - 1;

  if stored.events = 0 then
    return null;
  elsif stored.events = size and not stored.is_same then
    return jsonb_build_object('code', 'conflict', 'first', stored.first, 'last', stored.last);
  elsif stored.events = size and stored.is_together then
    return jsonb_build_object('code', 'duplicate', 'first', stored.first, 'last', stored.last);
  end if;
  return jsonb_build_object('code', 'overlap', 'counter', (
    select e.producer_sequence from ledgerline.event e
     where e.session = session_id and e.producer_id = producer
     order by e.producer_sequence desc limit 1));
end
$function$;

-- Numbers and stores a group of appends under their heads' locks and gives each its outcome; whatever is refused stores nothing and leaves no hole.
CREATE OR REPLACE FUNCTION ledgerline.stamp(wait_ms integer, lease interval, session_id text[], append_session integer[], append_size integer[], append_producer text[], append_counter bigint[], append_expected bigint[], append_turn text[], append_attempt bigint[], event_append integer[], event_type text[], event_payload text[], event_trace text[] DEFAULT NULL::text[])
 RETURNS text
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_variable
declare
  appends  constant int := cardinality(append_session);
  sessions constant int := cardinality(session_id);
  -- the heads that could be locked, in the order of session_id
  locked_id text[]; locked_head bigint[]; locked_state text[];
  locked_turn_state text[]; locked_turn text[]; locked_fence bigint[];
  known_id text[];           -- asked for only when not every head could be locked
  repeat_append int[];       -- the appends that repeat something stored
  -- the session that is being judged
  s int := 0; l int := 0; r int := 1;
  is_locked boolean; head bigint; state text; turn_state text; turn text; fence bigint;
  -- the append that is being judged
  first_event int := 1; verdict jsonb;
  -- what is to be written
  first_sequence bigint[] := array_fill(null::bigint, array[appends]);  -- null: refused
  offset_of      bigint[] := array_fill(null::bigint, array[appends]);  -- sequence = this + the event's place in the group
  new_head       bigint[] := array_fill(null::bigint, array[sessions]); -- null: not moved
  is_leased   boolean[] := array_fill(false, array[sessions]);
  refused jsonb[] := '{}';
  at timestamptz;
begin
  -- A separator inside a value would shift every value behind it into another append.
  if cardinality(append_size) <> appends or cardinality(append_producer) <> appends or cardinality(append_counter) <> appends
     or cardinality(append_expected) <> appends or cardinality(append_turn) <> appends or cardinality(append_attempt) <> appends
     or cardinality(event_type) <> cardinality(event_append) or cardinality(event_payload) <> cardinality(event_append)
     or cardinality(event_trace) <> cardinality(event_append) then
    raise exception using errcode = '22023', message = 'stamp: lists of unequal length';
  end if;

  -- 1. Lock the heads, in one order for everybody. Nothing that the lock guards is looked at in this statement: its
  --    snapshot is older than the lock.
  if wait_ms is null then
    select array_agg(h.session), array_agg(h.last_sequence), array_agg(h.state),
           array_agg(h.turn_state), array_agg(h.turn_id), array_agg(h.fence)
      into locked_id, locked_head, locked_state, locked_turn_state, locked_turn, locked_fence
      from (select * from ledgerline.session_head x where x.session = any (session_id)
             order by x.session for no key update skip locked) h;
  else
    perform set_config('lock_timeout', wait_ms::text, true);
    select array_agg(h.session), array_agg(h.last_sequence), array_agg(h.state),
           array_agg(h.turn_state), array_agg(h.turn_id), array_agg(h.fence)
      into locked_id, locked_head, locked_state, locked_turn_state, locked_turn, locked_fence
      from (select * from ledgerline.session_head x where x.session = any (session_id)
             order by x.session for no key update) h;
  end if;
  if coalesce(cardinality(locked_id), 0) < sessions then
    select array_agg(h.session) into known_id from ledgerline.session_head h where h.session = any (session_id);
  end if;

  -- After the lock, so that times do not run backwards inside a session as now() would: it is the transaction's start.
  at := date_trunc('milliseconds', clock_timestamp());

  -- 2. Which appends repeat a stored counter? In a statement of its own, whose snapshot is younger than the lock. The
  --    first counter at or above the append's own is one probe of the index; a range with exists() walked the session.
  select array_agg(a.i order by a.i)
    into repeat_append
    from unnest(append_session, append_producer, append_counter, append_size) with ordinality a (session, producer, counter, size, i)
   where a.producer is not null
     and a.counter + a.size > (select e.producer_sequence from ledgerline.event e
                                where e.session = session_id[a.session]
                                  and e.producer_id = a.producer
                                  and e.producer_sequence >= a.counter
                                order by e.producer_sequence limit 1);

  -- 3. Judge in arrival order, each append against the head that the ones before it leave.
  for i in 1 .. appends loop
    if append_session[i] <> s then
      s := append_session[i];
      is_locked := coalesce(locked_id[l + 1] = session_id[s], false);  -- both lists ascend
      if is_locked then
        l := l + 1;
        head := locked_head[l]; state := locked_state[l];
        turn_state := locked_turn_state[l]; turn := locked_turn[l]; fence := locked_fence[l];
      end if;
    end if;

    verdict := null;
    if not is_locked then
      verdict := jsonb_build_object('code', case when session_id[s] = any (known_id) then 'skipped' else 'unknown_session' end);
    elsif state = 'deleted' then
      verdict := '{"code": "deleted"}';
    elsif i = repeat_append[r] then  -- before closed and the rest: what is stored already is stored, whatever came after
      verdict := ledgerline.repeat_of(session_id[s], append_producer[i], append_counter[i],
        event_type[first_event : first_event + append_size[i] - 1], event_payload[first_event : first_event + append_size[i] - 1]);
    end if;
    if i = repeat_append[r] then
      r := r + 1;
    end if;

    if verdict is null then
      if state <> 'open' then
        verdict := '{"code": "closed"}';
      elsif append_attempt[i] is not null
            and (turn_state = 'running' and turn = append_turn[i] and fence = append_attempt[i]) is not true then
        verdict := '{"code": "fenced"}';
      elsif append_expected[i] <> head then
        verdict := jsonb_build_object('code', 'wrong_head', 'head', head);
      end if;
    end if;

    if verdict is null then
      first_sequence[i] := head + 1;
      offset_of[i] := head + 1 - first_event;
      head := head + append_size[i];
      new_head[s] := head;
      is_leased[s] := is_leased[s] or append_attempt[i] is not null;
    else
      refused := refused || (verdict || jsonb_build_object('append', i - 1));
    end if;
    first_event := first_event + append_size[i];
  end loop;
  if l <> coalesce(cardinality(locked_id), 0) then
    raise exception 'stamp: the sessions do not ascend, or their appends are not together';
  end if;

  -- 4. Rows, then heads, each in one statement.
  insert into ledgerline.event
         (session, sequence, type, payload, bytes, created_at, producer_id, producer_sequence, turn_id, attempt, traceparent)
  select session_id[append_session[e.append]], offset_of[e.append] + e.i, e.type, e.payload::json, octet_length(e.payload), at,
         append_producer[e.append], append_counter[e.append] + (offset_of[e.append] + e.i - first_sequence[e.append]),
         append_turn[e.append], append_attempt[e.append], e.traceparent
    from unnest(event_append, event_type, event_payload, event_trace) with ordinality e (append, type, payload, traceparent, i)
   where first_sequence[e.append] is not null;

  update ledgerline.session_head h
     set last_sequence = moved.head,
         lease_until = case when moved.is_leased then clock_timestamp() + lease else h.lease_until end
    from unnest(session_id, new_head, is_leased) moved (session, head, is_leased)
   where moved.head is not null and h.session = moved.session;

  return ledgerline.announce(json_build_object(
    'transaction', pg_current_xact_id_if_assigned()::text,
    'at', ledgerline.utc_text(at),
    'firsts', first_sequence,
    'refused', refused)::text);
end
$function$;

-- The one form in which a time leaves the ledger: UTC with milliseconds.
CREATE OR REPLACE FUNCTION ledgerline.utc_text(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN to_char((at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text);
