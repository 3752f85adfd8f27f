/** The built page in memory: a few small files, read once, each compressed when it is first asked for so. */
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { getMimeType } from 'hono/utils/mime';
import { LedgerlineError } from '../base/errors.ts';

/** The better first. */
export const encodings = ['br', 'gzip'] as const;
export type Encoding = (typeof encodings)[number];

type Bytes = Uint8Array<ArrayBuffer>;

export interface PageFile {
  readonly type: string;
  /** Weak: the same for every encoding. */
  readonly etag: string;
  readonly bytes: Bytes;
  /** Absent where it would save nothing. */
  readonly compressed?: (encoding: Encoding) => Promise<Bytes>;
}

export interface PageFiles {
  readonly index: PageFile;
  /** By the name below `assets/`, which holds a hash of the content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

/** The same place from `src/http` and from `dist/http`. */
export const builtPage = new URL('../../dist/page/', import.meta.url);

/** Undefined when the page has not been built. On a development server the page learns that there is a lab. */
export function readPageFiles(folder: URL, { hasLab }: { readonly hasLab: boolean }): PageFiles | undefined {
  try {
    const html = readFileSync(new URL('index.html', folder), 'utf8');
    const index = pageFile('index.html', Buffer.from(hasLab ? withLab(html) : html));
    const assets = new URL('assets/', folder);
    const names = readdirSync(assets);
    return { index, assets: new Map(names.map((name) => [name, pageFile(name, readFileSync(new URL(name, assets)))])) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new LedgerlineError('configuration', `the page in ${folder.pathname} cannot be read`, {}, error);
  }
}

const withLab = (html: string): string =>
  html.replace(/<head\b[^>]*>/i, '$&\n    <meta name="ledgerline-lab" content="on" />');

const LEAST_COMPRESSED_BYTES = 1_024;
const compressible = /^(?:text\/|image\/svg|application\/(?:json|javascript|wasm))/;

/** A file in memory by its name, whose end says its type. */
export function pageFile(name: string, bytes: Bytes): PageFile {
  const type = getMimeType(name) ?? 'application/octet-stream';
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  const file = { type, etag, bytes };
  if (bytes.length < LEAST_COMPRESSED_BYTES || !compressible.test(type)) return file;
  const made = new Map<Encoding, Promise<Bytes>>();
  return {
    ...file,
    compressed(encoding) {
      const result = made.get(encoding) ?? compress[encoding](bytes);
      made.set(encoding, result);
      return result;
    },
  };
}

/** Two thirds of the best level's effect for a twentieth of its time: the first visitor waits for it. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

const compress: Readonly<Record<Encoding, (bytes: Bytes) => Promise<Bytes>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, brotli),
  gzip: (bytes) => promisify(gzip)(bytes),
};
