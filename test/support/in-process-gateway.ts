/** The whole gateway inside the test's own process, on a database of its own. */
import { silentLog } from '../../src/base/log.ts';
import type { Log } from '../../src/base/log.ts';
import type { ServerConfig } from '../../src/config.ts';
import { createGateway } from '../../src/gateway.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import { generousRates } from './access.ts';
import { freshDatabase } from './services.ts';
import { mintTestToken } from './token.ts';
import type { TokenOptions } from './token.ts';

const SECRET = 'a secret of the tests, long enough for HS256';
const KEY = 'a-key-of-the-tests-that-is-long-enough';

export interface InProcessGateway {
  readonly publicUrl: string;
  readonly internalUrl: string;
  readonly key: string;
  token(options?: TokenOptions): Promise<string>;
  stop(): Promise<void>;
}

export interface InProcessOptions {
  readonly config?: Partial<ServerConfig>;
  readonly overrides?: GatewayOverrides;
  readonly log?: Log;
}

export async function startInProcessGateway(options: InProcessOptions = {}): Promise<InProcessGateway> {
  const given = options.config?.databaseUrl;
  const database = given === undefined ? await freshDatabase() : undefined;
  const gateway = createGateway(
    {
      databaseUrl: given ?? database?.url ?? '',
      databasePrepare: true,
      natsUrl: undefined,
      natsSubjectRoot: 'ledgerline',
      publicHost: '127.0.0.1',
      publicPort: 0,
      internalHost: '127.0.0.1',
      internalPort: 0,
      isHttp2: false,
      tokenSecret: SECRET,
      previousTokenSecret: undefined,
      jwksUrl: undefined,
      tokenIssuer: undefined,
      tokenAudience: undefined,
      cookies: { isSecure: true, isCrossSite: false },
      rates: generousRates,
      internalKey: KEY,
      allowedOrigins: ['https://app.test'],
      logLevel: 'silent',
      drainMs: 2_000,
      goawayWindowMs: 100,
      debounceMs: 5,
      leaseMs: 30_000,
      ...options.config,
    },
    options.log ?? silentLog,
    options.overrides,
  );
  await gateway.start();
  return {
    publicUrl: gateway.publicUrl,
    internalUrl: gateway.internalUrl,
    key: KEY,
    token: (token) => mintTestToken(SECRET, token),
    async stop() {
      await gateway.stop();
      await database?.drop();
    },
  };
}
