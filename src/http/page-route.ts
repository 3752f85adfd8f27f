/** GET / and /assets: the page for whoever reads HTML, a few words for everybody else. */
import { parseAccept } from 'hono/utils/accept';
import { LedgerlineError } from '../base/errors.ts';
import type { App, AppContext } from './context.ts';
import { mountApart } from './dispatch.ts';
import { encodings } from './page-files.ts';
import type { PageFile, PageFiles } from './page-files.ts';

const welcome = `Ledgerline: every event of a session is numbered, and no reader misses one.

GET  /sessions/:session/stream    follow a session (server-sent events)
GET  /sessions/:session/events    its history, a page at a time
GET  /api  /openapi.json           what this server takes and answers
GET  /healthz  /readyz
`;
const unbuilt = `
The page that a browser would see here is not built: npm run build:page, and start again.
`;

/** The page runs its own files and talks to its own gateway, and nothing else. */
const contentSecurityPolicy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `font-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

const indexHeaders = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': contentSecurityPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  // The address may hold a session's id, and for a moment a token.
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept, Accept-Encoding, Origin',
};
const assetHeaders = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  Vary: 'Accept-Encoding, Origin',
};

export function mountWelcome(app: App): void {
  mountApart(app, '/', { GET: (c) => c.text(welcome, 200) });
}

export function mountPage(app: App, files: PageFiles | undefined): void {
  mountApart(app, '/', {
    GET(c) {
      if (files !== undefined && accepted(c, 'Accept').has('text/html'))
        return answerFile(c, files.index, indexHeaders);
      return c.text(files === undefined ? welcome + unbuilt : welcome, 200, { Vary: 'Accept, Origin' });
    },
  });
  // Looked up among the names that were read, so no path leads anywhere else.
  mountApart(app, '/assets/:name', {
    GET(c) {
      const file = files?.assets.get(c.req.param('name') ?? '');
      if (file === undefined) throw new LedgerlineError('not_found', 'the page has no such file');
      return answerFile(c, file, assetHeaders);
    },
  });
}

/** A file, or that it is known; in the encoding that the request likes best. */
export async function answerFile(
  c: AppContext,
  file: PageFile,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const { type, etag } = file;
  if (isKnown(c.req.header('if-none-match'), etag)) return c.body(null, 304, { ...headers, ETag: etag });
  const welcomed = accepted(c, 'Accept-Encoding');
  const encoding = file.compressed && encodings.find((one) => welcomed.has(one));
  const bytes = encoding === undefined ? file.bytes : ((await file.compressed?.(encoding)) ?? file.bytes);
  return c.body(bytes, 200, {
    ...headers,
    ETag: etag,
    'Content-Type': type,
    'Content-Length': String(bytes.length),
    ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
  });
}

/** What a header welcomes by name; a quality of 0 refuses. */
function accepted(c: AppContext, header: 'Accept' | 'Accept-Encoding'): ReadonlySet<string> {
  const values = parseAccept(c.req.header(header) ?? '');
  return new Set(values.filter(({ q }) => q > 0).map(({ type }) => type.toLowerCase()));
}

/** Compared weakly, as If-None-Match is [spec: RFC 9110, 13.1.2]. */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag.replace(/^W\//, ''));
}
