-- Tracing: what a producer or a sender says of the trace that an append or a message belongs to, kept with it.

-- Nullable and without a default, so that no row is written anew; and where it is null it costs a bit of a bitmap that the
-- row has anyway, for there is hardly an event with both a producer and a turn.
alter table ledgerline.event add column traceparent text collate "C";
comment on column ledgerline.event.traceparent is
  'The W3C''s trace context of the append or the message that brought it: on the first event of an append alone, since the others are told by their place. Never part of what readers get.';

-- Dropped and made anew with one list more, which the release before does not give: its calls mean this function, too. A
-- second one beside it would leave open which of the two they mean.
drop function ledgerline.stamp(int, interval, text[], int[], int[], text[], bigint[], bigint[], text[], bigint[], int[], text[], text[]);
-- The settings keep every plan a walk along an index. The planner, which may have no statistics yet, otherwise reads a
-- hot session whole to find one counter, or hashes the whole table of events.
create function ledgerline.stamp(
  wait_ms         int,       -- null: pass by a head that somebody else holds; else wait so long for each, then error 55P03
  lease           interval,  -- how far a fenced append extends its turn's lease
  session_id      text[],    -- the sessions, each once, in ascending order of bytes
  append_session  int[],     -- for each append: which of these sessions, ascending; arrival order inside a session
  append_size     int[],     --   how many events
  append_producer text[],    --   its producer and that producer's counter of the first event, or null
  append_counter  bigint[],
  append_expected bigint[],  --   the head it insists on, or null
  append_turn     text[],    --   the turn and attempt that must own the session, or null
  append_attempt  bigint[],
  event_append    int[],     -- for each event, in order: which append
  event_type      text[],
  event_payload   text[],
  event_trace     text[] default null  -- the traceparent of each, or null; null where nobody gave one
) returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
$$;
comment on function ledgerline.stamp is
  'Numbers and stores a group of appends under their heads'' locks and gives each its outcome; whatever is refused stores nothing and leaves no hole.';
