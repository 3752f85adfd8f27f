/** Requests over HTTP/2 and TLS, each on a connection of its own, to a server whose certificate nobody has signed. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http2';

export interface Http2Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Http2Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Rejects when the connection is lost. */
export async function askHttp2(url: string, path: string, call: Http2Call = {}): Promise<Http2Answer> {
  const session = connect(url, { rejectUnauthorized: false });
  const lost = once(session, 'error').then(([error]) => Promise.reject(error as Error));
  try {
    const { method = 'GET', headers = {}, body } = call;
    const stream = session.request({ ':method': method, ':path': path, ...headers });
    stream.end(body);
    let text = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const whole = Promise.all([once(stream, 'response'), once(stream, 'close')]);
    const [[answered]] = (await Promise.race([whole, lost])) as [[IncomingHttpHeaders], unknown];
    return { status: Number(answered[':status']), headers: answered, text };
  } finally {
    session.close();
  }
}

export interface OpenAnswer {
  readonly status: number;
  close(): void;
}

/** Resolves when the answer has begun; it stays open. */
export async function openHttp2(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<OpenAnswer> {
  const session = connect(url, { rejectUnauthorized: false });
  const stream = session.request({ ':path': path, ...headers });
  const [answered] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  stream.resume().on('error', () => undefined); // its server may be gone before it is closed
  return { status: Number(answered[':status']), close: () => session.destroy() };
}
