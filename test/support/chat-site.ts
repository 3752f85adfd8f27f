/** Serves the page with `useChat` on an origin of its own, bundled in memory as a user's build does it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

export interface ChatSite {
  readonly origin: string;
  /** The page's address for one session. */
  page(of: { readonly url: string; readonly session: string; readonly token: string }): string;
  stop(): Promise<void>;
}

export async function startChatSite(): Promise<ChatSite> {
  const script = await bundle(fileURLToPath(new URL('chat-page.tsx', import.meta.url)));
  const html = '<!doctype html><meta charset="utf-8"><title>A chat</title><div id="root"></div>';
  const server = createServer(({ url }, response) => {
    const isScript = url === '/page.js';
    const type = isScript ? 'text/javascript' : 'text/html';
    response
      .writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' })
      .end(isScript ? script : `${html}<script type="module" src="/page.js"></script>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    page: (of) => `${origin}/#${new URLSearchParams(of).toString()}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function bundle(input: string): Promise<string> {
  const result = await build({
    configFile: false,
    envFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: { input, output: { format: 'es', codeSplitting: false } },
    },
  });
  if (!('output' in result)) throw new Error('one build makes one bundle');
  return result.output[0].code;
}
