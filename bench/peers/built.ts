/**
 * The product as it is shipped. A loader of TypeScript names every function when it is made, which costs a hot path more than it does
 * itself, so what is measured by its CPU is loaded from dist/, and a run builds that first.
 */
import type * as bus from '../../src/bus/local-bus.ts';
import type * as config from '../../src/config.ts';
import type * as gateway from '../../src/gateway.ts';
import type * as listener from '../../src/http/listener.ts';
import type * as ledger from '../../src/ledger/postgres-ledger.ts';
import type * as rooms from '../../src/room/rooms.ts';
import type * as writer from '../../src/sse/writer.ts';
import type * as work from '../../src/turn/session-work.ts';

const load = (path: string): Promise<unknown> => import(new URL(`../../dist/${path}`, import.meta.url).href);

export const builtGateway = async () => ({
  ...((await load('gateway.js')) as typeof gateway),
  ...((await load('config.js')) as typeof config),
});

export const builtRooms = async () => ({
  ...((await load('room/rooms.js')) as typeof rooms),
  ...((await load('bus/local-bus.js')) as typeof bus),
  ...((await load('sse/writer.js')) as typeof writer),
});

export const builtListener = async () => (await load('http/listener.js')) as typeof listener;

export const builtLedger = async () => ({
  ...((await load('ledger/postgres-ledger.js')) as typeof ledger),
  ...((await load('turn/session-work.js')) as typeof work),
});
