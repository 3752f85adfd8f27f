/** Answers what never became a request: headers that are too long, too slow, or not HTTP; and survives what was cut. */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../base/log.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from './observe.ts';
import { closeInStages } from './staged-close.ts';

const statusLines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Connections whose request may last as long as it likes: it has a limit of its own. */
const lasting = new WeakSet<Duplex>();

/** Lifts the limit on a whole request off this connection, until the returned function is called. */
export function outlastRequest(socket: Duplex): () => void {
  lasting.add(socket);
  return () => void lasting.delete(socket);
}

export function answerBadRequests(server: Server, log: Log): void {
  const lastAnswers = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => lastAnswers.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Node only tells of it, once for each request, and leaves the connection to whoever listens.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && lasting.has(socket)) return;
    // It was answered, and closes: what still comes is not read for what it says.
    if (socket.writableEnded) return;
    log.debug({ code: error.code }, 'a connection sent no request');
    // Nothing can be said in the middle of an answer, or to somebody who is gone.
    if (!socket.writable || error.code === 'ECONNRESET' || isAnswered(lastAnswers.get(socket))) {
      socket.destroy();
      return;
    }
    const statusLine = statusLines[error.code ?? ''] ?? '400 Bad Request';
    socket.write(
      `HTTP/1.1 ${statusLine}\r\n${PROTOCOL_HEADER}: ${PROTOCOL_VERSION}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
    closeInStages(socket);
  });
}

/** A refusal would pass for the answer to a whole request, which may be done; a broken body is refused before its answer began. */
function isAnswered(answer: ServerResponse | undefined): boolean {
  if (answer === undefined || answer.writableFinished) return false;
  // Without a socket it waits behind another answer, which may be a stream.
  return answer.headersSent || answer.req.complete || answer.socket === null;
}
