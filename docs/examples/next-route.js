/** Next.js, `app/api/sessions/[session]/route.js`: gives the signed-in user's browser a token, and sends their messages. */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { auth } from '@/auth'; // Auth.js, or whatever of yours knows who is signed in

/** Reaches the sessions that were created with this owner, and no others. */
function tokenOf(user, scope) {
  const token = new SignJWT({ owner: user, sessions: [], scope }).setProtectedHeader({ alg: 'HS256' });
  const dated = token.setSubject(user).setJti(randomUUID()).setIssuedAt().setExpirationTime('1h');
  return dated.sign(new TextEncoder().encode(process.env.LEDGERLINE_TOKEN_SECRET));
}

/** For `followSession`, `useSession` or any other reader. */
export async function GET() {
  const user = (await auth())?.user?.id;
  if (user === undefined) return new Response(null, { status: 401 });
  return new Response(await tokenOf(user, 'read'), { headers: { 'Cache-Control': 'no-store' } });
}

/** `{"key":"made-by-the-sender","content":"…"}`: the same key again is the same message. */
export async function POST(request, { params }) {
  const user = (await auth())?.user?.id;
  if (user === undefined) return new Response(null, { status: 401 });
  const session = encodeURIComponent((await params).session);
  const headers = { Authorization: `Bearer ${await tokenOf(user, 'create send')}`, 'Content-Type': 'application/json' };
  const post = (path, body) => fetch(`${process.env.LEDGERLINE_URL}${path}`, { method: 'POST', headers, body });
  const created = await post('/sessions', JSON.stringify(await params)); // or it is there already
  const answer = created.ok ? await post(`/sessions/${session}/messages`, await request.text()) : created;
  return new Response(answer.body, {
    status: answer.status,
    headers: { 'Content-Type': answer.headers.get('Content-Type') },
  });
}
