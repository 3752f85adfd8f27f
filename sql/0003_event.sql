-- The events: written once, under the lock of the session's head, and never changed.

-- No foreign key to the session: the same transaction holds the head's lock, which proves that the session exists, and
-- the key's own check would lock the session's row once for each event.
create table ledgerline.event (
  sequence          bigint      not null,
  created_at        timestamptz not null,
  producer_sequence bigint,
  attempt           bigint,
  bytes             integer     not null,
  session           text collate "C" not null,
  type              text collate "C" not null,
  producer_id       text collate "C",
  turn_id           text collate "C",
  payload           json        not null,
  constraint event_pkey primary key (session, sequence),
  constraint event_sequence_range check (sequence between 1 and 9007199254740991),
  constraint event_producer_whole check ((producer_id is null) = (producer_sequence is null)),
  constraint event_turn_whole check ((turn_id is null) = (attempt is null))
);
comment on table ledgerline.event is
  'The ledger itself: what a session said, numbered 1 to its head without a hole.';
comment on column ledgerline.event.payload is
  'json and not jsonb: the text leaves as it came, with its NULs, half emojis, key order and long numbers. No JSON operator may touch it, since some of them fail on such texts.';
comment on column ledgerline.event.type is
  'Goes into frames and JSON without escaping; its grammar is checked before the insert, because a regular expression here doubled an insert''s time.';
comment on column ledgerline.event.bytes is
  'The payload''s size in UTF-8, so that a page can be cut by bytes before a single payload is fetched.';
comment on column ledgerline.event.created_at is
  'By this server''s clock after the head was locked, in milliseconds: never read for order, which is the sequence''s.';
comment on constraint event_pkey on ledgerline.event is
  'A sequence is given once; pages are ranges of this index.';
comment on constraint event_sequence_range on ledgerline.event is
  'Counted from 1, and exact as a JavaScript number.';
comment on constraint event_producer_whole on ledgerline.event is
  'A producer''s counter means nothing without the producer.';
comment on constraint event_turn_whole on ledgerline.event is
  'An attempt is an attempt at a turn.';

create unique index event_producer_once on ledgerline.event (session, producer_id, producer_sequence)
  where producer_id is not null;
comment on index ledgerline.event_producer_once is
  'Answers whether a producer''s counter is stored already, and is the tripwire should an append ever slip past that question.';
