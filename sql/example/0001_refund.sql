-- The worked example's own tables, in a schema of their own: the refunds of its shop, and the ledger of entries that a consumer keeps.

create schema example;
comment on schema example is
  'The tables of the worked example (src/example); Ledgerline itself never touches them.';

create table example.migration (
  number     integer     not null,
  name       text        not null,
  applied_at timestamptz not null default clock_timestamp(),
  constraint migration_pkey primary key (number)
);
comment on table example.migration is
  'One row for each file of sql/example/ that was applied.';
comment on constraint migration_pkey on example.migration is
  'A file is applied once.';

create table example.refund (
  issued_at  timestamptz not null default clock_timestamp(),
  cents      integer     not null,
  refund_key text collate "C" not null,
  order_id   text collate "C" not null,
  constraint refund_pkey primary key (refund_key),
  constraint refund_cents_positive check (cents > 0)
);
comment on table example.refund is
  'What the tool issue_refund did: a row is money given back, written in the transaction that journals its step.';
comment on column example.refund.refund_key is
  'The step key (v1:<turn>:<index>): the way back from the money to the conversation.';
comment on constraint refund_pkey on example.refund is
  'A second lock behind the journal''s: one step gives money back once.';
comment on constraint refund_cents_positive on example.refund is
  'Giving back nothing, or less, is no refund; amounts are whole cents.';

create table example.entry (
  posted_at  timestamptz not null default clock_timestamp(),
  entry_id   bigint      not null generated always as identity,
  cents      integer     not null,
  refund_key text collate "C" not null,
  order_id   text collate "C" not null,
  constraint entry_pkey primary key (entry_id)
);
comment on table example.entry is
  'What the consumer entries did about each refund. Nothing here forbids a second entry of one refund: the inbox is what keeps it single.';
comment on column example.entry.refund_key is
  'The refund that was posted; its table may be in another database.';
comment on constraint entry_pkey on example.entry is
  'Entries are told apart, and read in the order of posting.';
