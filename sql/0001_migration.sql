-- The schema, and the table that says how far it has come.

create schema ledgerline;
comment on schema ledgerline is
  'Everything of Ledgerline lives here, so that it can share a database with the application''s own tables.';

create table ledgerline.migration (
  number     integer     not null,
  name       text        not null,
  applied_at timestamptz not null default clock_timestamp(),
  constraint migration_pkey primary key (number)
);
comment on table ledgerline.migration is
  'One row for each file of sql/ that was applied; a release refuses a database that is further than its own files.';
comment on constraint migration_pkey on ledgerline.migration is
  'A file is applied once.';
