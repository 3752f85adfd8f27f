/** What a request for a stream says, of all the ways in which clients say it. */
import { describe, expect, it } from 'vitest';
import { readStreamRequest } from '../../src/http/stream-request.ts';

function read(headers: Readonly<Record<string, string>>, query = '') {
  const parameters = new URLSearchParams(query);
  return readStreamRequest(
    (name) => headers[name],
    (name) => parameters.getAll(name),
  );
}

describe('the cursor of a stream request', () => {
  it.each(['after=7', 'lastEventId=7', 'last_event_id=7', 'after=&lastEventId=7'])('is found in ?%s', (query) => {
    expect(read({}, query)).toMatchObject({ requested: { kind: 'after', cursor: 7 }, isReconnect: false });
  });

  it('is the start when nothing is said, or nothing but an empty text', () => {
    for (const query of ['', 'after=', 'lastEventId=&last_event_id=']) {
      expect(read({ 'last-event-id': '' }, query)).toMatchObject({ requested: { kind: 'start' }, isReconnect: false });
    }
  });

  it('is the header when both are there, because a reconnect repeats the old address', () => {
    expect(read({ 'last-event-id': '9' }, 'after=7')).toMatchObject({
      requested: { kind: 'after', cursor: 9 },
      isReconnect: true,
    });
    expect(read({ 'last-event-id': '' }, 'after=7')).toMatchObject({ requested: { kind: 'after', cursor: 7 } });
    expect(read({ 'last-event-id': 'x' }, 'after=7')).toMatchObject({ requested: { kind: 'malformed' } });
  });

  it('may be the head in the query alone', () => {
    expect(read({}, 'after=head').requested).toEqual({ kind: 'head' });
    expect(read({ 'last-event-id': 'head' }).requested).toEqual({ kind: 'malformed' });
  });

  it('is malformed when it is given twice', () => {
    expect(read({}, 'after=7&after=7').requested).toEqual({ kind: 'malformed' });
    expect(read({}, 'after=7&lastEventId=8').requested).toEqual({ kind: 'malformed' });
  });
});

describe('a preference for real status codes', () => {
  it.each([
    'handling=strict',
    'Handling = Strict',
    'respond-async, handling=strict',
    'handling="strict"',
    'handling=strict; a=b, c',
  ])('is heard in "%s"', (prefer) => expect(read({ prefer }).isStrict).toBe(true));

  it.each(['', 'handling=lenient', 'handling=stricter', 'xhandling=strict', 'foo="handling=strict"'])(
    'is not heard in "%s"',
    (prefer) => expect(read({ prefer }).isStrict).toBe(false),
  );
});
