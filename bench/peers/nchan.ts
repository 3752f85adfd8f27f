/** The module nchan of nginx, in C: a channel for each session, published to over HTTP. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../src/base/clock.ts';
import { openPortServer } from '../services/port-server.ts';
import { nchanModule } from '../services/nchan.ts';
import { envelopeOf } from './payload.ts';
import type { Peer } from './peer.ts';

const configuration = (port: number, folder: string): string => `
load_module ${nchanModule};
daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
worker_rlimit_nofile 20000;
events { worker_connections 16000; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  keepalive_requests 10000000; keepalive_timeout 300s; tcp_nodelay on;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location ~ ^/publish/(.+)$ { nchan_publisher; nchan_channel_id $1; nchan_message_buffer_length 1000; }
    location ~ ^/sessions/([^/]+)/stream$ { nchan_subscriber eventsource; nchan_channel_id $1; nchan_subscriber_first_message newest; }
  }
}
`;

export const peer: Peer = {
  title: 'nginx nchan (C)',
  needs: ['nchan'],
  follow: (session) => ({
    method: 'GET',
    path: `/sessions/${session}/stream`,
    headers: { Accept: 'text/event-stream' },
  }),
  append: (session, data) => ({ method: 'POST', path: `/publish/${session}`, body: envelopeOf(100, data) }),
  async serve() {
    const server = await openPortServer({
      command: 'nginx',
      arguments(port, folder) {
        const file = join(folder, 'nginx.conf');
        writeFileSync(file, configuration(port, folder));
        return ['-p', folder, '-c', file];
      },
    });
    return { port: server.port, pid: await workerOf(server.pid), stop: () => server.close() };
  },
};

/** The master starts one worker, a moment after it listens, and only that one serves. */
async function workerOf(master: number): Promise<number> {
  for (;;) {
    const [worker = ''] = readFileSync(`/proc/${master}/task/${master}/children`, 'latin1').split(' ');
    if (worker !== '') return Number(worker);
    await sleep(10);
  }
}
