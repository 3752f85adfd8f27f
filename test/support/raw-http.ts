/** HTTP by hand, byte for byte: for what no well-behaved client would send. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** Sends bytes on a fresh connection and gathers all that comes back until the server ends it, or `isEnough` says so. */
export function exchange(
  url: string,
  bytes: string | Buffer,
  isEnough: (received: string) => boolean = () => false,
): Promise<string> {
  const { socket, received } = open(url);
  return new Promise((resolve, reject) => {
    socket.on('data', () => {
      if (isEnough(received())) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received()));
    socket.write(bytes);
  });
}

export function open(url: string): { socket: Socket; received: () => string } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  return { socket, received: () => text };
}

/** The text of a request head. */
export function head(method: string, path: string, headers: Readonly<Record<string, string>>, version = '1.1'): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n`;
}
