/** An agent streams its answer into a session: each event is stored once and in order, whatever the network does meanwhile. */
import { createProducer } from 'ledgerline/producer';

const { LEDGERLINE_INTERNAL_URL: url, LEDGERLINE_KEY: key } = process.env;
const answer = ['Number your events, ', 'and you can afford ', 'to lose them on the wire.']; // or what your model streams

// Token deltas travel in batches (50 events or 33 ms), everything else at once.
const producer = createProducer({ url, key, session: process.argv[2] ?? 'run-42', create: true });
for (const text of answer) await producer.append('text.delta', { message: 'm1', text });
await producer.append('message.completed', { message: 'm1', role: 'assistant', content: answer.join('') });
const { last } = await producer.close(); // everything up to `last` is stored
console.log(`stored, up to ${last}`);
