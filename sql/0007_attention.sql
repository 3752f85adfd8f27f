-- What needs a person: found without a look at what does not, and off the list when somebody has taken note.

create index step_open on ledgerline.step (session, turn_id, step_index) where state in ('started', 'in_doubt');
comment on index ledgerline.step_open is
  'What is not settled of one turn, whatever the length of its journal.';

alter table ledgerline.outbox add column acknowledged_at timestamptz;
comment on column ledgerline.outbox.acknowledged_at is
  'When a person took note that it is dead: it is listed and counted no more, and goes when it is old.';
create index outbox_attention on ledgerline.outbox (created_at) where published_at is null and acknowledged_at is null;
comment on index ledgerline.outbox_attention is
  'What is not out, the longest first, among all that is.';
