/** Reads a request's body: whole, bounded, and nothing happens when it ends early. */
import type { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { parseJson, shaped } from '../event/json-body.ts';
import { checkBody } from '../event/slice.ts';
import { headerOf } from './context.ts';
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
    requireJson(headerOf(c, 'content-type'), headerOf(c, 'content-encoding'));
    return readBody(c.env.incoming, limit, held);
  };
}

/** The value of a body in its shape; one in which a key occurs twice is refused, since nobody knows which is meant. */
export const shapedBody = <Shape extends z.ZodType>(shape: Shape, bytes: Buffer): z.infer<Shape> =>
  shaped(shape, parseJson(bytes, checkBody).value);

type SizeLimit = 'contentBytes' | 'commentBytes' | 'metadataBytes';

/** For a part of a body that has a bound of its own. */
export function requireSize(limit: SizeLimit, text: string): void {
  const max = limits[limit];
  if (Buffer.byteLength(text) > max) {
    throw new LedgerlineError('too_large', `${limit.slice(0, -'Bytes'.length)} holds at most ${max} bytes`, {
      limit,
      max,
    });
  }
}

interface Held {
  bytes: number;
}

/** Lines of JSON in UTF-8, not compressed. */
export function isNdjson(c: AppContext): boolean {
  const isNdjsonType = /^application\/x-ndjson *(?:; *charset="?utf-8"? *)?;?$/i;
  if (!isNdjsonType.test(headerOf(c, 'content-type') ?? '')) return false;
  requireIdentity(headerOf(c, 'content-encoding'));
  return true;
}

/** A body without a type is taken for JSON, since it is checked to be that anyway; one that says it is something else is refused. */
function requireJson(type: string | undefined, encoding: string | undefined): void {
  if (type !== undefined && !/^application\/json *(?:; *charset="?utf-8"? *)?;?$/i.test(type)) {
    throw new LedgerlineError('unsupported_media_type', 'the body must be application/json in UTF-8');
  }
  requireIdentity(encoding);
}

function requireIdentity(encoding: string | undefined): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new LedgerlineError('unsupported_media_type', 'the body must not be compressed');
  }
}

/**
 * Each listener on a request costs more than all that is done with a small body [bench]: there are four, and none is taken away
 * again, since they go with the request.
 */
function readBody(incoming: Incoming, limit: BodyLimit, held: Held): Promise<Buffer> {
  const max = limits[limit];
  return new Promise((resolve, reject) => {
    /**
     * Undefined from the end on: the listeners stay as long as the request, which a kept connection holds until its next, and by what
     * settles the promise they would hold the body with them [I6].
     */
    let open: { chunks: Buffer[]; resolve: typeof resolve; reject: typeof reject } | undefined = {
      chunks: [],
      resolve,
      reject,
    };
    let size = 0;
    const settle = (): typeof open => {
      const settled = open;
      if (settled !== undefined) held.bytes -= size;
      open = undefined;
      return settled;
    };
    /** Stops reading; the adapter lets the rest run out for a moment, so that the answer is not lost in a reset. */
    const refuse = (error: LedgerlineError): void => {
      incoming.pause();
      settle()?.reject(error);
    };
    const onData = (chunk: Buffer): void => {
      if (open === undefined) return;
      size += chunk.length;
      held.bytes += chunk.length;
      if (size > max) return refuse(tooLarge(limit));
      if (held.bytes > limits.heldBodiesBytes) return refuse(tooManyBodies());
      open.chunks.push(chunk);
    };
    const onEnd = (): void => {
      // Over HTTP/2 what was cut off ends as well.
      if (incoming.aborted) return onCut();
      const read = settle();
      if (read === undefined) return;
      const [only] = read.chunks;
      read.resolve(only?.length === size ? only : Buffer.concat(read.chunks, size));
    };
    const onCut = (): void => {
      settle()?.reject(new LedgerlineError('malformed', 'the body ended early', { where: 'body' }));
    };
    if (Number(incoming.headers['content-length']) > max) return refuse(tooLarge(limit));
    if (incoming.destroyed) return onCut();
    incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
  });
}

const tooLarge = (limit: BodyLimit): LedgerlineError =>
  new LedgerlineError('too_large', `the body holds at most ${limits[limit]} bytes`, { limit, max: limits[limit] });

const tooManyBodies = (): LedgerlineError =>
  new LedgerlineError('unavailable', 'as many bodies are on their way as this server can hold; nothing was stored');
