/** The floor of an append over HTTP: the same listener and framework, answering a POST without looking at it. */
import { Hono } from 'hono';
import { silentLog } from '../../src/base/log.ts';
import type { AppEnvironment } from '../../src/http/context.ts';
import { builtListener } from './built.ts';
import type { Peer } from './peer.ts';

export const peer: Peer = {
  title: 'the same server answering an empty POST (floor)',
  needs: [],
  follow: () => ({ method: 'GET', path: '/' }),
  append: (session) => ({ method: 'POST', path: `/internal/sessions/${session}/events` }),
  async serve() {
    const { createListener } = await builtListener();
    const app = new Hono<AppEnvironment>();
    app.post('/internal/sessions/:session/events', (c) => c.body(null, 204));
    const listener = createListener({
      name: 'empty POST',
      app,
      host: '127.0.0.1',
      port: 0,
      isHttp2: false,
      log: silentLog,
    });
    await listener.start();
    return { port: Number(new URL(listener.url).port) };
  },
};
