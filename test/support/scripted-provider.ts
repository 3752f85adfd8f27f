/** A provider of chat completions that streams what the test says: chunks as they were recorded, errors, and cuts. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What one request meets. */
export type ProviderAnswer =
  | { readonly kind: 'chunks'; readonly chunks: readonly string[] }
  /** The connection is lost behind these. */
  | { readonly kind: 'cut'; readonly chunks: readonly string[] }
  /** It ends as if that were all: without a reason, and without `[DONE]`. */
  | { readonly kind: 'short'; readonly chunks: readonly string[] }
  | { readonly kind: 'status'; readonly status: number; readonly message: string }
  /** Nothing comes behind these. */
  | { readonly kind: 'hang'; readonly chunks: readonly string[] };

export interface AskedRequest {
  readonly authorization: string | undefined;
  readonly body: { readonly model: string; readonly messages: readonly unknown[]; readonly tools?: readonly unknown[] };
}

export interface ScriptedProvider {
  readonly url: string;
  readonly asked: AskedRequest[];
  /** The requests whose connection is gone. */
  readonly gone: number;
}

/** Each request meets the next answer; the last one goes on and on. */
export async function scriptedProvider(...answers: readonly ProviderAnswer[]): Promise<ScriptedProvider> {
  const asked: AskedRequest[] = [];
  let gone = 0;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const bytes of request) body += String(bytes);
    const next = answers[Math.min(asked.length, answers.length - 1)] as ProviderAnswer;
    asked.push({ authorization: request.headers.authorization, body: JSON.parse(body) as AskedRequest['body'] });
    response.once('close', () => (gone += 1));
    if (next.kind === 'status') {
      response.writeHead(next.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: next.message } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of next.chunks) response.write(`data: ${chunk}\n\n`);
    if (next.kind === 'chunks') response.end('data: [DONE]\n\n');
    if (next.kind === 'short') response.end();
    if (next.kind === 'cut') setImmediate(() => request.socket.destroy());
  }
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    get gone() {
      return gone;
    },
  };
}

const chunk = (delta: object, reason: string | null = null): string =>
  JSON.stringify({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'test',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });

/** An answer in words. */
export const words = (...texts: readonly string[]): string[] => [
  chunk({ role: 'assistant', content: '' }),
  ...texts.map((content) => chunk({ content })),
  chunk({}, 'stop'),
];

/** An answer that asks for a tool, its arguments in pieces. */
export function toolCall(id: string, name: string, args: object): string[] {
  const pieces = JSON.stringify(args).match(/.{1,7}/gsu) ?? [];
  const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] });
  return [
    call({ id, type: 'function', function: { name, arguments: '' } }),
    ...pieces.map((piece) => call({ function: { arguments: piece } })),
    chunk({}, 'tool_calls'),
  ];
}
