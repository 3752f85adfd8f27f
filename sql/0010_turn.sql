-- Turns in one round trip each: how an attempt begins, and how most turns end, behind their session's lock.

create function ledgerline.bind_requests(
  session_id    text,
  turn          text,
  only_steering boolean,  -- those that may join a turn which runs
  most          int,      -- inputs, and bytes of them; at least one is bound
  most_bytes    int
) returns bigint[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
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
$$;
comment on function ledgerline.bind_requests is
  'Makes the pending requests a turn''s inputs, the oldest first and no more than a worker can be handed; null when there are none.';

create function ledgerline.begin_attempt(
  session_id text,
  turn       text,
  attempt    bigint,
  is_new     boolean,   -- the claim begins the turn
  turn_policy text,     -- of a new one, like the two behind it
  tries      int,
  allowed    interval,
  said       text,      -- the data of turn.started, up to which try it is and its inputs
  most       int,       -- as of bind_requests
  most_bytes int,
  out number        bigint,  -- of turn.started; null when the session had nothing to do
  out at            text,
  out told          text,    -- the end of its data, in the place of the last brace
  out attempts      int,
  out max_attempts  int,
  out deadline      text,
  out remaining_ms  double precision,
  out messages      text     -- the inputs themselves, as a JSON array
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
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
$$;
comment on function ledgerline.begin_attempt is
  'A claimed head''s attempt begins: the turn with its inputs is made, or its tries are counted, and turn.started is stored.';

create function ledgerline.complete_turn(
  session_id    text,
  turn          text,
  attempt       bigint,
  event_type    text[],  -- what the attempt says last, and turn.completed up to its inputs
  event_payload text[],
  event_trace   text[],  -- null where nobody gave one
  out first      bigint, -- of these events; null when nothing was done
  out at         text,
  out told       text,   -- the end of the last one's data, in the place of the last brace
  out is_pending boolean -- more is to be done
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
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
$$;
comment on function ledgerline.complete_turn is
  'An attempt completes its turn, if that needs no judgement: nobody holds the head, the attempt owns it, and no call was left open.';
