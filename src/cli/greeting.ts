/** What a person sees when the development server is up: the addresses, the credentials, and a line to paste. */
import type { Carrier } from './dev-crew.ts';
import type { DevServer } from './dev-file.ts';

const channels: Readonly<Record<Carrier, string>> = {
  jetstream: 'deliveries go by JetStream (NATS_URL)',
  process: 'deliveries stay within this process; with NATS_URL they go by JetStream',
  nobody: 'deliveries wait; with NATS_URL they go by JetStream',
};

export function greeting(
  server: DevServer & { readonly page: string },
  data: string,
  { demo, agent, carrier }: { readonly demo: boolean; readonly agent: boolean; readonly carrier: Carrier },
): string {
  const play = `
In the session "demo" a visitor talks with the agent, and again while somebody watches. Approve what the agent asks for, or
stop it; write there yourself, and the visitor leaves the floor to you. Without a browser:

  curl -N -H 'Authorization: Bearer ${server.token}' ${server.public}/sessions/demo/stream

or, in another terminal in this folder: npx ledgerline tail demo
`;
  const write = `
An agent answers in every session: open the page and write to it. Ask for a refund, and it needs your approval first.
`;
  return `Ledgerline is running. Ctrl-C stops it.

  Open  ${server.page}

  public    ${server.public} (readers, with the token)
  internal  ${server.internal} (producers, with the key)
  token     ${server.token}
  key       ${server.key}
  data      ${data}
  channel   ${channels[carrier]}
${demo ? play : ''}${agent ? write : ''}
`;
}
