/** Reads a request's body: whole, bounded, and nothing happens when it ends early. */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { AppContext } from './context.ts';

type BodyLimit = 'appendBodyBytes' | 'bodyBytes';
type Incoming = AppContext['env']['incoming'];

/** The bytes of a JSON body. */
export type ReadJsonBody = (c: AppContext, limit: BodyLimit) => Promise<Buffer>;

/**
 * One for each listener: all bodies that are being read there share a budget [I6], so that readers cannot use up the
 * producers'. Not `Request.text()`: it repairs bad UTF-8 silently and has no limit.
 */
export function createBodyReader(): ReadJsonBody {
  const held: Held = { bytes: 0 };
  return (c, limit) => {
    requireJson(c.req.header('content-type'), c.req.header('content-encoding'));
    return readBody(c.env.incoming, limit, held);
  };
}

interface Held {
  bytes: number;
}

/** A body without a type is taken for JSON, since it is checked to be that anyway; one that says it is something else is refused. */
function requireJson(type: string | undefined, encoding: string | undefined): void {
  if (type !== undefined && !/^application\/json *(?:; *charset="?utf-8"? *)?;?$/i.test(type)) {
    throw new LedgerlineError('unsupported_media_type', 'the body must be application/json in UTF-8');
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new LedgerlineError('unsupported_media_type', 'the body must not be compressed');
  }
}

function readBody(incoming: Incoming, limit: BodyLimit, held: Held): Promise<Buffer> {
  const max = limits[limit];
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('aborted', onCut).off('close', onCut);
      held.bytes -= size;
      act();
    };
    /** Stops reading; the adapter lets the rest run out for a moment, so that the answer is not lost in a reset. */
    const refuse = (error: LedgerlineError): void => {
      incoming.pause();
      settle(() => reject(error));
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      held.bytes += chunk.length;
      if (size > max) return refuse(tooLarge(limit));
      if (held.bytes > limits.heldBodiesBytes) return refuse(tooManyBodies());
      chunks.push(chunk);
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks, size)));
    const onCut = (): void =>
      settle(() => reject(new LedgerlineError('malformed', 'the body ended early', { where: 'body' })));
    if (Number(incoming.headers['content-length']) > max) return refuse(tooLarge(limit));
    if (incoming.destroyed) return onCut();
    incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('aborted', onCut).on('close', onCut);
  });
}

const tooLarge = (limit: BodyLimit): LedgerlineError =>
  new LedgerlineError('too_large', `the body holds at most ${limits[limit]} bytes`, { limit, max: limits[limit] });

const tooManyBodies = (): LedgerlineError =>
  new LedgerlineError('unavailable', 'as many bodies are on their way as this server can hold; nothing was stored');
