/** Prints a token with which `maya` reads a session for an hour. Where your users sign in, a JWT library of yours does the same. */
import { createHmac, randomUUID } from 'node:crypto';

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = Math.floor(Date.now() / 1000);
const claims = {
  sub: 'maya',
  sessions: [process.argv[2] ?? 'run-42'],
  scope: 'read',
  jti: randomUUID(),
  iat: now,
  exp: now + 3600,
};
const text = `${part({ alg: 'HS256' })}.${part(claims)}`;
const signature = createHmac('sha256', process.env.LEDGERLINE_TOKEN_SECRET).update(text).digest('base64url');
console.log(`${text}.${signature}`);
