-- Revocation: what ends tokens before their time.

create table ledgerline.revocation (
  number     bigint      not null,
  revoked_at timestamptz not null,
  expires_at timestamptz not null,
  kind       text        not null,
  value      text collate "C" not null,
  constraint revocation_pkey primary key (number),
  constraint revocation_once unique (kind, value),
  constraint revocation_kind check (kind in ('jti', 'sub', 'session')),
  constraint revocation_expires check (expires_at > revoked_at)
);
comment on table ledgerline.revocation is
  'Tokens that no longer hold, by their id, by whose they are, or for a session; every gateway has a copy in memory.';
comment on column ledgerline.revocation.number is
  'Counted up under the lock of whoever revokes, in the order of the commits: a gateway that has seen one has seen all below it.';
comment on column ledgerline.revocation.revoked_at is
  'Tokens that were issued later are not meant, unless one is named by its id.';
comment on column ledgerline.revocation.expires_at is
  'When no token is alive any more that it is about, so that the table stays as small as what it is for.';
comment on constraint revocation_pkey on ledgerline.revocation is
  'What is new to a gateway is read from where it was.';
comment on constraint revocation_once on ledgerline.revocation is
  'Revoking again moves the one that is there, so that repeats fill no table.';
comment on constraint revocation_kind on ledgerline.revocation is
  'The closed union of what can be revoked.';
comment on constraint revocation_expires on ledgerline.revocation is
  'A revocation holds for some time.';
create index revocation_age on ledgerline.revocation (expires_at);
comment on index ledgerline.revocation_age is
  'Finds what is over, and counts what is not.';
