/** `ledgerline dev`: the whole of Ledgerline with nothing configured, in the data folder of the working folder. */
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { assert } from '../base/assert.ts';
import { LedgerlineError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import type { Log } from '../base/log.ts';
import { stopAll } from '../base/service.ts';
import type { Service } from '../base/service.ts';
import type { Bus } from '../bus/bus.ts';
import { readServerConfig } from '../config.ts';
import type { Environment, ServerConfig } from '../config.ts';
import { embeddedPostgres } from '../db/embedded.ts';
import { migrate } from '../db/migrate.ts';
import { createCrashLab } from '../crash/crash-lab.ts';
import { createGateway } from '../gateway.ts';
import { scopes } from '../http/auth.ts';
import type { Scope } from '../http/auth.ts';
import { mintToken } from '../http/token.ts';
import { createLab } from '../lab/lab.ts';
import type { CrashLab } from '../lab/crash-lab.ts';
import type { Lab } from '../lab/lab.ts';
import type { Context } from './context.ts';
import { builtProgram } from './crash-lab-process.ts';
import { DEFAULT_MODEL, readModelConfig } from './demo-agent-config.ts';
import { demoAgent } from './demo-agent.ts';
import { COLLEAGUE, DEMO_SESSION, VISITOR } from './demo-cast.ts';
import { createDemoVisitor } from './demo-visitor.ts';
import { claimDataFolder } from './dev-claim.ts';
import { carrierOf, createDevCrew } from './dev-crew.ts';
import { DATA_FOLDER, prepareDataFolder, readOrMakeSecrets, removeDevServer, writeDevServer } from './dev-file.ts';
import type { DevServer, Secrets } from './dev-file.ts';
import { greeting } from './greeting.ts';
import { lentBus } from './lent-bus.ts';
import { explainPort } from './port.ts';
import { processBus } from './process-bus.ts';
import { createRestartableGateway } from './restartable-gateway.ts';
import type { RestartableGateway } from './restartable-gateway.ts';
import { stopped } from './stopped.ts';

interface DevOptions {
  readonly port?: string;
  readonly internalPort?: string;
  readonly data?: string;
  readonly json?: true;
  readonly demo: boolean;
  readonly agent: boolean;
}

/** Long enough to forget about it, short enough that a leaked one ends. */
const DEVELOPMENT_TOKEN_SECONDS = 30 * 86_400;

export function devCommand(context: Context): Command {
  return new Command('dev')
    .summary('run everything here, with nothing to set up')
    .description(
      'Runs a gateway with a Postgres of its own (or DATABASE_URL) and an agent that answers messages until Ctrl-C, ' +
        'lets a visitor talk with it in the session "demo", and prints where to watch them. A second Ctrl-C ends it at once.',
    )
    .option('-p, --port <port>', 'public port, 0 picks a free one (default: 8080)', portOption)
    .option('--internal-port <port>', 'internal port, 0 picks a free one (default: 8081)', portOption)
    .option('--data <folder>', 'where its data lives', DATA_FOLDER)
    .option('--json', 'print one line of JSON with the addresses, the token and the key, instead of the greeting')
    .option('--no-demo', 'let nobody talk in the session "demo"')
    .option('--no-agent', 'leave messages to a `ledgerline worker` of yours; there is no demo then')
    .addHelpText('after', help)
    .action((options: DevOptions) => dev(context, options));
}

const help = `
The agent follows a script. With OPENAI_BASE_URL (such as https://api.openai.com/v1) and OPENAI_API_KEY it asks a model,
OPENAI_MODEL or else ${DEFAULT_MODEL}; not for the demo's visitor, whose talk costs nothing.

Examples:
  ledgerline dev
  ledgerline dev --port 0 --internal-port 0 --json
`;

async function dev(context: Context, options: DevOptions): Promise<void> {
  const data = resolve(context.folder, options.data ?? DATA_FOLDER);
  await prepareDataFolder(data);
  const claim = await claimDataFolder(data);
  if (claim === undefined) {
    throw new LedgerlineError(
      'unavailable',
      `a development server is running in ${data} already: stop it, or give this one a folder of its own with --data`,
    );
  }
  try {
    await runClaimed(context, options, data);
  } finally {
    claim.release();
  }
}

/** Starts part by part, so that whatever fails or is interrupted, exactly what runs is stopped: Postgres last. */
async function runClaimed(context: Context, options: DevOptions, data: string): Promise<void> {
  const secrets = await readOrMakeSecrets(data);
  const config = devConfig(context.env, options, secrets);
  const model = readModelConfig(context.env);
  const log = createLog(config.logLevel);
  const running: Service[] = [];
  const start = async <S extends Service>(service: S): Promise<S> => {
    await service.start();
    running.push(service);
    return service;
  };
  try {
    const databaseUrl =
      config.databaseUrl === EMBEDDED ? (await start(embeddedPostgres({ folder: data, log }))).url : config.databaseUrl;
    if (context.stop.aborted) return;
    await migrate(databaseUrl, log, { prepare: config.databasePrepare });
    if (context.stop.aborted) return;
    const bus = await start(processBus(config, log, context.clock));
    const { databasePrepare } = config;
    const trials = { databaseUrl, databasePrepare, program: builtProgram, folder: data, log, clock: context.clock };
    const crashLab = await start(createCrashLab(trials));
    const { gateway, lab } = gatewayWithLab({ ...config, databaseUrl }, context, log, bus, crashLab);
    await start(gateway).catch((thrown: unknown) => {
      throw explainPort(thrown, { [config.publicPort]: '--port', [config.internalPort]: '--internal-port' });
    });
    const agent = options.agent ? demoAgent(model) : undefined;
    const { clock } = context;
    await start(createDevCrew({ agent, config: { ...config, databaseUrl }, bus: lab.spoil(bus), log, clock }));
    const token = await mint(config, 'developer', ['*'], scopes);
    const hasDemo = options.demo && options.agent;
    const server = {
      public: gateway.publicUrl,
      internal: gateway.internalUrl,
      token,
      key: config.internalKey,
      page: pageAddress(gateway.publicUrl, token, hasDemo),
      ...(config.databaseUrl === EMBEDDED && { database: databaseUrl }),
    } satisfies DevServer;
    if (hasDemo) await start(createDemoVisitor({ url: server.public, tokens: await demoTokens(config), log }));
    await writeDevServer(data, server);
    await context.output.print(
      options.json === true
        ? `${JSON.stringify(server)}\n`
        : greeting(server, data, { ...options, demo: hasDemo, carrier: carrierOf(config, options.agent) }),
    );
    await stopped(context.stop);
  } finally {
    await removeDevServer(data);
    await stopAll(running, log);
  }
}

/** The lab and the bus stay what they are when the gateway restarts. */
function gatewayWithLab(
  config: ServerConfig,
  { clock }: Context,
  log: Log,
  bus: Bus,
  crashLab: CrashLab,
): { gateway: RestartableGateway; lab: Lab } {
  const lab = createLab({ clock, restartGateway: () => gateway.restart() });
  const gateway = createRestartableGateway({
    ports: config,
    create: (ports) => createGateway({ ...config, ...ports }, log, { lab, crashLab, bus: lentBus(bus) }),
    log,
  });
  return { gateway, lab };
}

/** What follows the # stays in the browser: no server, proxy or log sees the token. */
const pageAddress = (publicUrl: string, token: string, hasDemo: boolean): string =>
  `${publicUrl}/${hasDemo ? `?session=${DEMO_SESSION}` : ''}#token=${token}`;

/** Stands for the address of the embedded Postgres, which is known when it runs. */
const EMBEDDED = 'postgres://embedded';

/** The production settings with everything filled in that a developer should not have to set. */
function devConfig(env: Environment, { port, internalPort }: DevOptions, secrets: Secrets): ServerConfig {
  const given = Object.fromEntries(Object.entries(env).filter(([, text]) => text !== ''));
  return readServerConfig({
    DATABASE_URL: EMBEDDED,
    LEDGERLINE_TOKEN_SECRET: secrets.tokenSecret,
    // A browser keeps no secure cookie of an address that is not.
    LEDGERLINE_COOKIE_SECURE: 'false',
    LEDGERLINE_INTERNAL_KEY: secrets.internalKey,
    LEDGERLINE_PUBLIC_HOST: '127.0.0.1',
    LEDGERLINE_LOG_LEVEL: 'warn',
    ...given,
    ...(port === undefined ? {} : { LEDGERLINE_PUBLIC_PORT: port }),
    ...(internalPort === undefined ? {} : { LEDGERLINE_INTERNAL_PORT: internalPort }),
  });
}

/** They reach nothing but the demo. */
async function demoTokens(config: ServerConfig): Promise<{ visitor: string; colleague: string }> {
  return {
    visitor: await mint(config, VISITOR, [DEMO_SESSION], ['create', 'read', 'send']),
    colleague: await mint(config, COLLEAGUE, [DEMO_SESSION], ['send']),
  };
}

function mint(config: ServerConfig, sub: string, sessions: string[], scope: readonly Scope[]): Promise<string> {
  const { tokenSecret, tokenIssuer: issuer, tokenAudience: audience } = config;
  assert(tokenSecret !== undefined, 'a development server has a secret of its own');
  const claims = { sub, sessions, scope, ttlSeconds: DEVELOPMENT_TOKEN_SECONDS, issuer, audience };
  return mintToken(new TextEncoder().encode(tokenSecret), claims);
}

function portOption(text: string): string {
  if (/^[0-9]{1,5}$/.test(text) && Number(text) <= 65_535) return text;
  throw new InvalidArgumentError('It is a port: 0 to 65535, where 0 picks a free one.');
}
