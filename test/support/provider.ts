/** A provider outside, and the model: it counts what it is asked and what it does, and holds its callers where they are to die. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { EffectClass } from '../../src/step/step.ts';
import { eventually } from './waits.ts';

/** What a tool asks for: by its class the provider knows a repeat by its key, by what it is about, or not at all. */
export interface Order {
  readonly effect: EffectClass;
  readonly key: string;
  readonly order: string;
  readonly cents: number;
}

export interface Hold {
  met(): Promise<true>;
  release(): void;
}

export interface Provider {
  readonly url: string;
  /** Every call of a tool that arrived, in order. */
  readonly asked: readonly Order[];
  /** What came of them: an entry is money that left. */
  readonly applied: readonly Order[];
  /** How often the model was asked. */
  readonly answers: number;
  /** How often somebody came to the point. */
  passed(point: string): number;
  /**
   * Who comes to this point is held there until it dies or is let go: the next one, or those of these places from now on, counted from 1.
   * `arrived` and `applied` are the provider's own points.
   */
  hold(point: string, places?: readonly number[]): Hold;
}

/** The tools that the model asks for, each for the same refund; what it was told, and how often it was asked before. */
export type Model = (content: string, asked: number) => readonly string[];

export const ORDER = '7731';
const CENTS = 4_000;

/** It asks for the tools that the message names, whatever it answered before. */
const obedient: Model = (content) => content.split(' ');

export async function startProvider(model: Model = obedient): Promise<Provider> {
  const asked: Order[] = [];
  const applied: Order[] = [];
  const passed: string[] = [];
  let answers = 0;
  const holds = new Map<string, { readonly places: ReadonlySet<number>; readonly released: AbortSignal }>();
  const timesPassed = (point: string): number => passed.filter((one) => one === point).length;

  /** False: whoever came is dead. */
  async function pass(point: string, caller: ServerResponse): Promise<boolean> {
    passed.push(point);
    const hold = holds.get(point);
    if (hold?.places.has(timesPassed(point)) !== true) return true;
    await Promise.race([once(caller, 'close'), once(hold.released, 'abort')]);
    return !caller.destroyed;
  }

  const isRepeat = ({ effect, key, order, cents }: Order): boolean =>
    effect === 'read' ||
    (effect === 'keyed' && applied.some((one) => one.key === key)) ||
    (effect === 'idempotent' && applied.some((one) => one.order === order && one.cents === cents));

  async function act(order: Order, caller: ServerResponse): Promise<object> {
    asked.push(order);
    // Who is held here and dies has never got through.
    if (!(await pass('arrived', caller))) return {};
    if (!isRepeat(order)) applied.push(order);
    await pass('applied', caller);
    return { refunded: order.cents };
  }

  function answer(content: string, isLast: boolean): object {
    answers += 1;
    const tools = isLast ? [] : model(content, answers - 1);
    const args = { order: ORDER, cents: CENTS };
    return { result: content, calls: tools.map((tool, place) => ({ call: `call-${place}`, tool, args })) };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as Order & { point: string; content: string; isLast: boolean };
    const routes: Readonly<Record<string, () => object | Promise<object>>> = {
      '/model': () => answer(body.content, body.isLast),
      '/act': () => act(body, response),
      '/find': () => ({ found: applied.some(({ key }) => key === body.key) }),
      '/at': async () => ({ isAlive: await pass(body.point, response) }),
    };
    response.end(JSON.stringify(await routes[request.url ?? '']?.()));
  }

  const server = createServer((request, response) => {
    // A caller that dies in the middle is what this is for.
    serve(request, response).catch((thrown: unknown) => response.destroy(thrown instanceof Error ? thrown : undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    applied,
    get answers() {
      return answers;
    },
    passed: timesPassed,
    hold(point, places = [1]) {
      const before = timesPassed(point);
      const releasing = new AbortController();
      holds.set(point, { places: new Set(places.map((place) => before + place)), released: releasing.signal });
      const last = before + Math.max(...places);
      return {
        met: () => eventually(`somebody is held: ${point}`, () => timesPassed(point) >= last),
        release: () => releasing.abort(),
      };
    },
  };
}
