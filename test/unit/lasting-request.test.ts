/** A request that has a limit of its own outlives the one on all others, which still holds for them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { answerBadRequests, outlastRequest } from '../../src/http/bad-request.ts';
import { head, open } from '../support/raw-http.ts';
import { eventually } from '../support/waits.ts';

describe('a request that takes longer than a whole one may', () => {
  it('is cut, unless it has a limit of its own, and then until that is lifted', async () => {
    const server = createServer(
      { requestTimeout: 300, headersTimeout: 300, connectionsCheckingInterval: 20 },
      (request, response) => {
        if (request.url === '/lasting') release = outlastRequest(request.socket);
        request.on('data', (chunk: Buffer) => response.write(chunk));
        request.on('end', () => response.end());
        response.write('begun');
      },
    );
    let release: (() => void) | undefined;
    answerBadRequests(server, silentLog);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const begin = (path: string) => {
      const call = open(url);
      call.socket.on('error', () => undefined);
      call.socket.write(head('POST', path, { 'Transfer-Encoding': 'chunked' }));
      return call;
    };
    const lasting = begin('/lasting');
    await eventually('it has begun', () => lasting.received().includes('begun'));
    const ordinary = begin('/ordinary');
    await eventually('the ordinary one is cut', () => ordinary.socket.destroyed);
    lasting.socket.write('5\r\nstill\r\n0\r\n\r\n');
    await eventually('the lasting one is answered', () => lasting.received().includes('still'));
    release?.();
    lasting.socket.write(head('POST', '/ordinary', { 'Transfer-Encoding': 'chunked' }));
    await eventually('the next request of its connection is cut', () => lasting.socket.destroyed);
    server.close();
    expect(ordinary.received()).toMatch(/begun/);
  });
});
