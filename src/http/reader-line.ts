/**
 * Where readers wait: whoever comes for a stream stands in line before anything is done for the request, and every other request goes
 * past. A herd of readers comes by itself, when a gateway ends or a network heals; callers of the other routes wait for their answers
 * before they ask again, and an append must not stand behind people who may wait.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Log } from '../base/log.ts';
import { detach } from '../base/service.ts';
import { isGone } from '../sse/writer.ts';
import type { Turnstile } from './turnstile.ts';

export type Serve = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/**
 * Serves a reader when its turn has come, and not at all if it went away. The line holds one request of a connection, or of a stream of
 * HTTP/2, and so is bounded by them [I6]: a client that pipelines is cut, since what stands behind a stream is not answered before the
 * stream's end, which is the connection's; it asks again for what was not answered [spec: RFC 9112, 9.3.2].
 */
export function readersInLine(turnstile: Turnstile, serve: Serve, log: Log): Serve {
  const inLine = new WeakSet<object>();
  return (request, response) => {
    const session = streamedSession(request);
    if (session === undefined) return serve(request, response);
    const place = 'stream' in request ? request.stream : request.socket;
    if (inLine.has(place)) return void place.destroy();
    inLine.add(place);
    const enter = (): void => {
      inLine.delete(place);
      if (!isGone(response)) serve(request, response);
    };
    detach(turnstile(session).then(enter), log, 'a reader was not let in');
  };
}

interface Asking {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
}

export const isForStream = (request: Asking): boolean => streamedSession(request) !== undefined;

const streamedSession = ({ method, url }: Asking): string | undefined =>
  method === 'GET' ? /^\/sessions\/([^/?#]+)\/stream(?:[?#]|$)/.exec(pathOf(url ?? ''))?.[1] : undefined;

/** As the routes see it: nobody gets past the line by writing the address in another way. */
function pathOf(url: string): string {
  if (url.startsWith('/') && !/[%\\]|\/\./.test(url)) return url;
  try {
    return decodeURI(new URL(url, 'http://localhost').pathname);
  } catch {
    return url; // no route takes it for a session's
  }
}
