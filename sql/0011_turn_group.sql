-- Turns by the group: those that begin together, and those that are completed together, take one round trip, behind their sessions' locks.
-- Beside `begin_attempt` and `complete_turn`, which the release before goes on calling.

create function ledgerline.begin_attempts(
  heads       ledgerline.session_head[],  -- as a statement before took them; the last event of each is to be its turn.started
  is_new      boolean[],   -- of each head: the claim begins its turn
  turn_policy text[],      --   of a new turn, like the two behind it
  tries       int[],
  allowed_ms  bigint[],
  most        int,         -- as of bind_requests
  most_bytes  int
) returns text[]           -- for each head, as JSON; null where the session had nothing to do, and is idle
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
$$;
comment on function ledgerline.begin_attempts is
  'Attempts begin on heads that were taken: the turns with their inputs are made, or their tries are counted, and each turn.started is stored.';

create function ledgerline.claim_turns(
  place       int[],      -- of each turn that is asked for, by whom, counted from 1: the first of them gets the longest due
  worker      text[],     -- of each who asks, like the three behind it
  turn_policy text[],     --   of turns that begin
  tries       int[],
  allowed_ms  bigint[],
  lease       interval,
  most        int,        -- as of bind_requests
  most_bytes  int,
  put_off     interval    -- null: an error of one head is an error of all. Else each begins by itself, and one that cannot waits so long
) returns table (
  claim   int,            -- who gets it
  session text,
  turn    text,
  attempt bigint,
  is_new  boolean,        -- the claim begins the turn
  ready_ms double precision,  -- how long it was ready
  begun   text,           -- as of begin_attempts
  failure text            -- why it was put off
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
$$;
comment on function ledgerline.claim_turns is
  'Takes sessions that are due for all who ask at once, no more than each asked for, and begins an attempt on each.';

create function ledgerline.complete_turns(
  session_id    text[],    -- the sessions, each once
  turn          text[],    -- the turn of each, and the attempt that completes it
  attempt       bigint[],
  event_type    text[],    -- what it says last, and turn.completed up to its inputs: a list with commas
  event_payload text[],    --   with line feeds
  event_trace   text[]     --   with commas, * where nobody gave one; null for none at all
) returns table (
  place      int,          -- of those that were completed; whoever is missing needs judging, and nothing was done
  first      bigint,       -- of these events
  at         text,
  told       text,         -- the end of the last one's data, in the place of the last brace
  is_pending boolean       -- more is to be done
)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
$$;
comment on function ledgerline.complete_turns is
  'Attempts complete their turns where that needs no judgement: nobody holds the head, the attempt owns it, and no call was left open.';
