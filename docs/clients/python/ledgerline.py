"""A client of Ledgerline in one file, for Python 3.8 or later, with the standard library alone: copy it.

Append (the internal address and key of a gateway)::

    from ledgerline import Producer

    with Producer("http://127.0.0.1:8081", key, "run-42") as producer:
        for text in model:
            producer.append("text.delta", {"message": "m1", "text": text})
        producer.append("message.completed", {"message": "m1", "role": "assistant", "content": content})
    # here everything is stored, each event once and in order, whatever the network did meanwhile

Follow (the public address and a token)::

    from ledgerline import follow, mint_token

    token = mint_token(secret, sub="maya", sessions=["run-42"])
    for event in follow("http://127.0.0.1:8080", token, "run-42"):
        print(event["sequence"], event["type"], event["data"])
    # the session is closed, and all of it was seen: nothing missing, nothing twice

Whatever cannot be mended by trying again is a `LedgerlineError`, with the `code` that docs/PROTOCOL.md lists.
"""

import base64
import collections
import decimal
import hashlib
import hmac
import http.client
import json
import random
import re
import threading
import time
import urllib.parse
import uuid

__all__ = ["LedgerlineError", "Producer", "follow", "mint_token"]

# The server's own limits: docs/PROTOCOL.md, "Append".
_EVENTS_PER_APPEND = 1000
_BYTES_PER_APPEND = 8 * 1024 * 1024 - 4096
_BYTES_PER_PAYLOAD = 1024 * 1024
# A frame holds one event of at most a mebibyte and what surrounds it.
_BYTES_PER_LINE = 4 * 1024 * 1024
# The server says something at least every 15 s; two and a half times that without a byte is a dead connection.
_SILENCE_SECONDS = 37.5


class LedgerlineError(Exception):
    """`code` is the server's (`session_closed`, `producer_conflict`, ...), or one of this file's own: `gave_up`,
    `ended`, `counter_moved`, `not_contiguous`, `unexpected_answer`. `fields` is what the server put beside it."""

    def __init__(self, code, message, fields=None):
        super().__init__("%s: %s" % (code, message))
        self.code = code
        self.fields = fields or {}


# --- tokens ----------------------------------------------------------------------------------------------------------


def mint_token(secret, sub, sessions, scope="read", ttl_seconds=3600, owner=None):
    """A reader's token: a JWT with HS256, signed with the server's LEDGERLINE_TOKEN_SECRET.

    `sessions` is a list of session ids, of prefixes such as `run-*`, or `["*"]`; `scope` is made of the words `read`,
    `send`, `write` and `create`.
    """
    claims = {
        "sub": sub,
        "jti": str(uuid.uuid4()),
        "iat": int(time.time()),  # without it, what was revoked of this subject once stays so for every later token
        "exp": int(time.time()) + ttl_seconds,
        "sessions": list(sessions),
        "scope": scope,
    }
    if owner is not None:
        claims["owner"] = owner
    signed = b".".join(_base64url(_json(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    key = secret.encode() if isinstance(secret, str) else secret
    return (signed + b"." + _base64url(hmac.new(key, signed, hashlib.sha256).digest())).decode()


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


# --- appending -------------------------------------------------------------------------------------------------------


class Producer:
    """Appends to one session, in the order of the calls, each event exactly once.

    A thread of its own sends the events. Deltas (types that end in `.delta` or `-delta`) wait up to 33 ms for others,
    at most 50; every other type leaves at once and takes along what waits. One request is in flight at a time. When its
    fate is unclear (the connection broke, the server was killed) the producer asks the server which of its events are
    stored, and goes on behind them.

    `producer` is who appends. Left out, it is a fresh id. Give one of your own to go on where an earlier life of this
    program ended: `counter` then tells how many of its events are stored already, so that you can leave those out. Two
    producers must never use one id at the same time.

    Every call raises `LedgerlineError` once the server has refused something for good, or could not be reached for
    `give_up_seconds`: what was appended behind `counter` is not stored then.
    """

    def __init__(
        self,
        url,
        key,
        session,
        producer=None,
        create=True,
        timeout_seconds=30.0,
        give_up_seconds=300.0,
        batch_events=50,
        batch_seconds=0.033,
        buffer_events=10000,
    ):
        self.id = producer or str(uuid.uuid4())
        self.session = session
        self._http = _Http(url, key, timeout_seconds)
        self._give_up_seconds = give_up_seconds
        self._batch_events = batch_events
        self._batch_seconds = batch_seconds
        self._buffer_events = buffer_events
        self._events_path = "/internal/sessions/%s/events" % _quoted(session)
        self._counter_path = "/internal/sessions/%s/producers/%s" % (_quoted(session), _quoted(self.id))
        self._changed = threading.Condition()
        self._waiting = collections.deque()  # of (text, size, may wait, since)
        self._eager = 0  # how many of them may not wait
        self._flushes = 0
        self._taken = 0
        self._stored = 0
        self._failure = None
        self._is_closed = False
        if create:
            self._ask("POST", "/sessions", _json({"session": session}))
        row = self._ask("GET", self._counter_path) if producer else {"counter": 0}
        self._start = row["counter"]
        self._last = row.get("last") or 0
        self._thread = threading.Thread(target=self._run, name="ledgerline-producer", daemon=True)
        self._thread.start()

    @property
    def counter(self):
        """The number of the last event of this producer that is known to be stored, from 1; 0 before the first."""
        with self._changed:
            return self._start + self._stored

    def append(self, type, data, delta=None):
        """Takes an event; its place in the order is fixed by this call. Waits only while the buffer is full. `delta`
        says whether it may wait for others of its kind, if its type does not."""
        self.append_json(type, _json(data), delta)

    def append_json(self, type, text, delta=None):
        """The same with the payload's JSON text, which is stored as it is: long numbers, the order of keys."""
        if not re.fullmatch("[a-z0-9._-]{1,64}", type):
            raise LedgerlineError("malformed", "an event type is 1 to 64 of a-z 0-9 . _ -")
        json.loads(text, parse_constant=_no_constant, parse_int=str)  # one bad event would take its whole batch along
        payload = _escaped(text).strip(" \t")
        event = '{"type":"%s","data":%s}' % (type, payload)
        size = len(event.encode())
        if len(payload.encode()) > _BYTES_PER_PAYLOAD:
            raise LedgerlineError("too_large", "the payload of an event has at most %d bytes" % _BYTES_PER_PAYLOAD)
        may_wait = delta if delta is not None else type == "delta" or type.endswith((".delta", "-delta"))
        with self._changed:
            self._changed.wait_for(lambda: self._failure or self._is_closed or len(self._waiting) < self._buffer_events)
            self._require_life()
            self._waiting.append((event, size, may_wait, time.monotonic()))
            self._taken += 1
            self._eager += not may_wait
            self._changed.notify_all()

    def flush(self):
        """Sends what waits; returns the sequence of the last event when all of it is stored (0: never any)."""
        with self._changed:
            goal = self._taken
            self._flushes += 1
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: self._failure or self._stored >= goal)
            finally:
                self._flushes -= 1
            if self._stored < goal:
                raise self._failure
            return self._last

    def close(self):
        """Takes no more, and flushes."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        last = self.flush()
        self._thread.join()
        return last

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()
            return
        try:
            self.close()  # what was appended before the error is stored all the same
        except LedgerlineError:
            pass  # the error that is on its way already says more

    def _require_life(self):
        if self._failure is not None:
            raise self._failure
        if self._is_closed:
            raise LedgerlineError("ended", "the producer is closed")

    def _run(self):
        try:
            while True:
                batch = self._next_batch()
                if not batch:
                    return
                last = self._deliver([event for event, _, _, _ in batch])
                with self._changed:
                    self._stored += len(batch)
                    self._last = last
                    self._changed.notify_all()
        except Exception as error:  # whoever appends or flushes meets it
            with self._changed:
                known = isinstance(error, LedgerlineError)
                self._failure = error if known else LedgerlineError("unexpected_answer", repr(error))
                self._waiting.clear()
                self._changed.notify_all()
        finally:
            self._http.close()

    def _next_batch(self):
        """Waits until a batch should leave. None at the end."""
        with self._changed:
            while True:
                if not self._waiting and self._is_closed:
                    return None
                wait = self._leaves_in()
                if wait is not None and wait <= 0:
                    break
                self._changed.wait(wait)
            batch, size = [], 0
            while self._waiting and len(batch) < _EVENTS_PER_APPEND:
                size += self._waiting[0][1] + 1
                if batch and size > _BYTES_PER_APPEND:
                    break
                batch.append(self._waiting.popleft())
                self._eager -= not batch[-1][2]
            self._changed.notify_all()
            return batch

    def _leaves_in(self):
        if not self._waiting:
            return None
        if self._eager or self._flushes or self._is_closed or len(self._waiting) >= self._batch_events:
            return 0
        return self._waiting[0][3] + self._batch_seconds - time.monotonic()

    def _deliver(self, events):
        """Returns the sequence of the last of them when they are stored."""
        first = self._start + self._stored + 1
        last = first + len(events) - 1
        head = '{"producer":{"id":%s,"sequence":%d},"events":[' % (_json(self.id), first)
        body = head + ",".join(events) + "]}"
        retry = _Retry(self._give_up_seconds)
        is_unclear = False
        while True:
            try:
                return self._http.ask("POST", self._events_path, body)["last"]
            except _Unclear as fault:
                is_unclear = is_unclear or fault.may_be_stored
                retry.wait(fault)
                if not is_unclear:
                    continue
            except LedgerlineError as error:
                # Only after a failure of this same request: otherwise somebody else appends under this id.
                if is_unclear and error.code == "duplicate_append":
                    return error.fields["last"]
                raise
            row = self._ask("GET", self._counter_path)
            if row["counter"] == last:
                return row["last"]
            if row["counter"] != first - 1:
                message = "%d events are stored, not %d or %d: does another producer use this id?"
                raise LedgerlineError("counter_moved", message % (row["counter"], first - 1, last), row)

    def _ask(self, method, path, body=None):
        """What may be repeated as often as it takes."""
        retry = _Retry(self._give_up_seconds)
        while True:
            try:
                return self._http.ask(method, path, body)
            except _Unclear as fault:
                retry.wait(fault)


# --- following -------------------------------------------------------------------------------------------------------


def follow(url, token, session, after=None, give_up_seconds=None, on_control=None):
    """Yields the events of a session, in order, as dicts with `sequence`, `type`, `at` and `data`; returns when the
    session is closed and all of it was yielded.

    Comes back by itself after every cut and restart, and goes on where it was. `after` is the last sequence that you
    have (0 or None: from the start; "head": from now on). `token` is a token, or a function that returns a fresh one:
    it is called for each connection. With `give_up_seconds` it raises `gave_up` after so long without a connection.

    `on_control`, if given, is called as `on_control(name, data)` for every frame that is no event. One of them matters
    to whoever keeps state: `reset` says that the cursor could not be served (the database was restored, or retention
    removed what follows it) and that the stream goes on behind `data["floor"]`.
    """
    reader = _Follower(url, token, session, after, give_up_seconds, on_control)
    return reader.events()


class _Follower:
    def __init__(self, url, token, session, after, give_up_seconds, on_control):
        self._url = url
        self._token = token if callable(token) else lambda: token
        self._path = "/sessions/%s/stream" % _quoted(session)
        self._cursor = None if after in (None, 0, "head") else int(after)
        self._is_from_head = after == "head"
        self._give_up_seconds = give_up_seconds
        self._on_control = on_control or (lambda name, data: None)
        self._retry_seconds = 1.0

    def events(self):
        retry = _Retry(self._give_up_seconds)
        faults = 0
        while True:
            before = self._cursor
            pause = None
            try:
                for name, data in self._connection():
                    retry = _Retry(self._give_up_seconds)
                    if name == "message":
                        yield data
                        continue
                    if name == "gap":
                        faults = faults + 1 if self._cursor == before else 1
                        if faults > 5:
                            raise LedgerlineError("not_contiguous", "the stream goes on with %s behind %s" % data)
                        break
                    self._on_control(name, data)
                    if name == "end" and data["reason"] != "closed":
                        raise LedgerlineError("session_deleted", "the session was %s" % data["reason"])
                    if name == "end":
                        return
                    if name in ("goaway", "denied"):
                        pause = self._retry_seconds if name == "goaway" else None
                        break
            except _Unclear as fault:
                retry.wait(fault, self._retry_seconds)
                continue
            except LedgerlineError as error:
                if error.code == "ended":
                    return
                raise
            if pause is None:
                retry.wait(_Unclear("the connection ended"), self._retry_seconds)
            else:
                time.sleep(pause)  # the server gave each reader a slot of its own

    def _connection(self):
        """The frames of one connection as (name, data), until it ends; the cursor moves with each."""
        query = ""
        headers = {"Accept": "text/event-stream", "Prefer": "handling=strict"}
        if self._cursor is not None:
            headers["Last-Event-ID"] = str(self._cursor)
        elif self._is_from_head:
            query = "?after=head"
        http_ = _Http(self._url, self._token(), _SILENCE_SECONDS)
        try:
            response = http_.open("GET", self._path + query, None, headers)
            if response.status == 204:
                raise LedgerlineError("ended", "the session is closed, and all of it was read")
            for name, text in _frames(response):
                if name == "retry":
                    self._retry_seconds = int(text) / 1000
                    continue
                data = json.loads(text, parse_int=_integer)
                if name == "message":
                    expected = (self._cursor or 0) + 1
                    if data["sequence"] != expected:
                        # Never sent by a correct server: read again from where we are.
                        yield "gap", (data["sequence"], self._cursor)
                        return
                    self._cursor = data["sequence"]
                elif name == "hello":
                    self._cursor = data["after"]
                elif name == "reset":
                    self._cursor = data["floor"]
                yield name, data
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _Unclear(str(error) or repr(error))
        finally:
            http_.close()


def _frames(response):
    """Server-sent events as (name, data); a frame that the end of the connection cut is none."""
    name, lines = "message", []
    while True:
        line = response.readline(_BYTES_PER_LINE)
        if not line.endswith(b"\n"):
            if len(line) == _BYTES_PER_LINE:
                raise LedgerlineError("unexpected_answer", "a line without an end: this is no server of Ledgerline")
            return
        text = line[:-1].decode("utf-8")
        if text == "":
            if lines:
                yield name, "\n".join(lines)
            name, lines = "message", []
            continue
        field, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            name = value
        elif field == "data":
            lines.append(value)
        elif field == "retry" and value.isdigit():
            yield "retry", value


# --- HTTP ------------------------------------------------------------------------------------------------------------


class _Unclear(Exception):
    """No answer, or one that may pass: try again. `after` is how long the server asks to wait, in seconds."""

    def __init__(self, message, after=0.0, may_be_stored=True):
        super().__init__(message)
        self.after = after
        self.may_be_stored = may_be_stored


class _Retry:
    """Waits longer each time, never the same for all, and gives up in the end."""

    def __init__(self, give_up_seconds):
        self._give_up_seconds = give_up_seconds
        self._since = time.monotonic()
        self._ceiling = 0.1

    def wait(self, fault, least_seconds=0.0):
        pause = fault.after + least_seconds + self._ceiling * random.uniform(0.5, 1.0)
        self._ceiling = min(5.0, self._ceiling * 2)
        waited = time.monotonic() - self._since
        if self._give_up_seconds is not None and waited + pause > self._give_up_seconds:
            message = "no clear answer within %g s, at last: %s" % (self._give_up_seconds, fault)
            raise LedgerlineError("gave_up", message)
        time.sleep(pause)


class _Http:
    """One connection, opened anew when it broke."""

    def __init__(self, url, credential, timeout_seconds):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise LedgerlineError("malformed", "the url is an address such as http://127.0.0.1:8081")
        if not re.fullmatch("[!-~]+", credential):
            raise LedgerlineError("malformed", "the key or token is no single word: does a line break follow it?")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout_seconds)
        self._base = parts.path.rstrip("/")
        self._headers = {"Authorization": "Bearer " + credential}

    def ask(self, method, path, body=None):
        """The value of a JSON answer. Raises `_Unclear` where the request may or may not have been done."""
        response = self.open(method, path, body, {"Content-Type": "application/json"})
        try:
            return json.loads(response.read().decode("utf-8"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise _Unclear("the answer was cut: %r" % error)

    def open(self, method, path, body, headers):
        """The response behind its head; a refusal is raised."""
        try:
            self._connection.request(method, self._base + path, body and body.encode(), {**self._headers, **headers})
            response = self._connection.getresponse()
            if response.status < 300:
                return response
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise _Unclear(str(error) or repr(error))
        raise _refusal(response, text)

    def close(self):
        self._connection.close()


def _refusal(response, text):
    try:
        fields = json.loads(text.decode("utf-8"))
        code = fields["type"].rpartition(":")[2]
    except (ValueError, KeyError, TypeError, AttributeError):
        fields, code = {}, "unexpected_answer"
    message = "%s (%d)" % (fields.get("detail", "no reason given"), response.status)
    # A 5xx may come from a proxy that lost the answer, and a 409 without its code was cut on its way.
    may_pass = response.status >= 500 or response.status in (408, 429) or code == "session_busy"
    if may_pass or (response.status == 409 and code == "unexpected_answer"):
        after = response.headers.get("Retry-After", "0")
        may_be_stored = response.status not in (409, 429) and code != "session_busy"
        return _Unclear("%s: %s" % (code, message), float(after) if after.isdigit() else 0.0, may_be_stored)
    return LedgerlineError(code, message, fields)


def _json(value):
    return _escaped(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _integer(text):
    """The ledger carries numbers that Python finds too long for an int."""
    try:
        return int(text)
    except ValueError:
        return decimal.Decimal(text)


def _escaped(text):
    """On one line as the server cuts lines, and as UTF-8 can carry it: half of a surrogate pair stays the escape of JSON."""
    text = text.replace("\n", " ").replace("\r", " ")  # JSON has them between its tokens alone
    return re.sub("[\x85\u2028\u2029\ud800-\udfff]", lambda half: "\\u%04x" % ord(half.group()), text)


def _no_constant(name):
    raise ValueError("%s is not JSON" % name)


def _quoted(text):
    return urllib.parse.quote(text, safe="")
