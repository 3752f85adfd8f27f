/** A back end in Hono: it knows who is signed in, sends their messages, and lets their browser follow with its own EventSource. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { basicAuth } from 'hono/basic-auth';
import { setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { sign } from 'hono/jwt';
import { proxy } from 'hono/proxy';

const { LEDGERLINE_URL, LEDGERLINE_TOKEN_SECRET, PASSWORD, PORT = '3000' } = process.env;
const page = await readFile(new URL('event-source.html', import.meta.url), 'utf8');
const sessionOf = (user) => `chat-${user}`;
const streamOf = (user) => `${LEDGERLINE_URL}/sessions/${sessionOf(user)}/stream`;

/** Reaches the sessions that were created for this user, and no others. */
function tokenOf(user, scope) {
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: user, owner: user, sessions: [], scope, jti: randomUUID(), iat: now, exp: now + 3600 };
  return sign(claims, LEDGERLINE_TOKEN_SECRET, 'HS256');
}

async function post(user, path, body) {
  const token = await tokenOf(user, 'create read send');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return proxy(`${LEDGERLINE_URL}${path}`, { method: 'POST', headers, body });
}

const app = new Hono();
// In the place of your own sign-in.
app.use(basicAuth({ username: 'maya', password: PASSWORD, onAuthSuccess: (c, user) => c.set('user', user) }));
app.use(csrf());

app.get('/', async (c) => {
  const created = await post(c.get('user'), '/sessions', JSON.stringify({ session: sessionOf(c.get('user')) }));
  return created.ok ? c.html(page) : created; // it may be there already
});

/** The sender's own key makes a repeat the same message. */
app.post('/messages', async (c) => {
  const user = c.get('user');
  return post(user, `/sessions/${sessionOf(user)}/messages`, await c.req.text());
});

/** For a gateway anywhere: what opens one stream for five minutes stands in its address. */
app.post('/ticket', async (c) => {
  const user = c.get('user');
  const answer = await post(user, `/sessions/${sessionOf(user)}/tickets`);
  if (!answer.ok) return answer;
  const { ticket } = await answer.json();
  return c.json({ url: `${streamOf(user)}?ticket=${ticket}` });
});

/** For a gateway on the same host: the browser brings the token by itself, and no script can read it. */
app.post('/cookie', async (c) => {
  const user = c.get('user');
  const secure = new URL(c.req.url).protocol === 'https:';
  const options = { path: '/sessions', httpOnly: true, secure, sameSite: 'Strict', maxAge: 3600 };
  setCookie(c, 'ledgerline_token', await tokenOf(user, 'read'), options);
  return c.json({ url: streamOf(user) });
});

serve({ fetch: app.fetch, port: Number(PORT) }, ({ port }) => console.log(`http://127.0.0.1:${port}`));
