/** An issuer of tokens with keys of its own, published over HTTP for as long as the test wants them to be. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, exportSPKI, generateKeyPair } from 'jose';
import type { CryptoKey, JWK } from 'jose';

export interface IssuedToken {
  readonly kid?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly ttlSeconds?: number;
}

export interface Issuer {
  readonly url: string;
  /** Requests for the keys so far. */
  readonly asked: number;
  /** What it answers: its keys, an error, nothing at all, or what is no set of keys. */
  state: 'there' | 'failing' | 'silent' | 'garbled';
  /** Makes a key, and publishes it unless told otherwise. */
  addKey(kid: string, alg: string, isPublished?: boolean): Promise<void>;
  withdrawKey(kid: string): void;
  token(options?: IssuedToken): Promise<string>;
  /** The public key as its PEM: what a forger has. */
  publicKey(kid: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startIssuer(): Promise<Issuer> {
  const keys = new Map<string, { alg: string; privateKey: CryptoKey; publicKey: CryptoKey }>();
  const published = new Map<string, JWK>();
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    if (issuer.state === 'silent') return;
    if (issuer.state === 'failing') return void response.writeHead(503).end();
    const text = issuer.state === 'garbled' ? '<html>' : JSON.stringify({ keys: [...published.values()] });
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const keyOf = (kid: string) => {
    const key = keys.get(kid);
    if (key === undefined) throw new Error(`there is no key ${kid}`);
    return key;
  };
  const issuer: Issuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
    state: 'there',
    get asked() {
      return asked;
    },
    async addKey(kid, alg, isPublished = true) {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      keys.set(kid, { alg, privateKey, publicKey });
      if (isPublished) published.set(kid, { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' });
    },
    withdrawKey: (kid) => void published.delete(kid),
    token({ kid = 'k1', claims = {}, ttlSeconds = 600 } = {}) {
      const { alg, privateKey } = keyOf(kid);
      const now = Math.floor(Date.now() / 1_000);
      const usual = { sub: 'maya', jti: 'j', iat: now, exp: now + ttlSeconds, sessions: ['*'], scope: 'read' };
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg, kid }).sign(privateKey);
    },
    publicKey: (kid) => exportSPKI(keyOf(kid).publicKey),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return issuer;
}
