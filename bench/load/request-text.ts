/** A request of HTTP/1.1 as the bytes that go out. */
import type { HttpRequest } from '../peers/peer.ts';

export function requestText({ method, path, headers = {}, body = '' }: HttpRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === 'GET' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${lines.join('')}${length}\r\n${body}`;
}
