/** A server inside this program, until Ctrl-C; a setting is a variable of docs/OPERATIONS.md in camelCase. */
import { createServer } from 'ledgerline/server';

const { DATABASE_URL, NATS_URL, LEDGERLINE_TOKEN_SECRET, LEDGERLINE_INTERNAL_KEY, PORT = '8080' } = process.env;
const server = createServer({
  databaseUrl: DATABASE_URL,
  natsUrl: NATS_URL, // without it this must be the only server of its database
  tokenSecret: LEDGERLINE_TOKEN_SECRET,
  internalKey: LEDGERLINE_INTERNAL_KEY,
  publicPort: Number(PORT),
  internalPort: 0,
  migrate: true,
  log: process.stderr,
});
await server.start();
console.log(`readers: ${server.publicUrl}  producers: ${server.internalUrl}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.stop());
