/** Readers that npm's EventSource makes, each with its own way to carry a token, and to come back when that no longer holds. */
import { EventSource } from 'eventsource';
import { onTestFinished } from 'vitest';
import { eventually } from './waits.ts';

export interface RenewingReader {
  readonly sequences: readonly number[];
  /** Why the server ended a connection, each time it did. */
  readonly denials: readonly string[];
  /** The session is over, and all of it was read. */
  readonly isDone: boolean;
}

export interface RenewingReaderOptions {
  readonly publicUrl: string;
  readonly session: string;
  /** The first token; later ones come from `renew`. */
  readonly token: string;
  /** A token that holds now. */
  readonly renew: () => Promise<string>;
}

type Carrier = 'header' | 'cookie' | 'ticket';

export function renewingReader(carrier: Carrier, options: RenewingReaderOptions): RenewingReader {
  const seen = { sequences: [] as number[], denials: [] as string[], isDone: false };
  const streamUrl = `${options.publicUrl}/sessions/${options.session}/stream`;
  let { token } = options;
  let source: EventSource | undefined;
  onTestFinished(() => source?.close());

  function open(address: string, headers: () => Readonly<Record<string, string>>, renewed: () => Promise<void>): void {
    const opened = new EventSource(address, {
      // What a browser does by itself with a cookie, and a page with a header.
      async fetch(url, init) {
        const ask = (): Promise<Response> => fetch(url, { ...init, headers: { ...init.headers, ...headers() } });
        const answer = await ask();
        if (answer.status !== 401) return answer;
        await answer.body?.cancel();
        await renewed();
        return ask();
      },
    });
    source = opened;
    opened.addEventListener('message', ({ lastEventId }) => seen.sequences.push(Number(lastEventId)));
    opened.addEventListener('denied', ({ data }) => {
      seen.denials.push((JSON.parse(String(data)) as { reason: string }).reason);
      if (carrier === 'ticket') {
        opened.close();
        void withTicket();
      }
    });
    opened.addEventListener('end', () => {
      seen.isDone = true;
      opened.close();
    });
  }

  /** The ticket of a token that was ended opens nothing more: the page asks for another, and goes on where it was. */
  async function withTicket(): Promise<void> {
    const ticket = await eventually('a ticket', async () => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(streamUrl.replace(/stream$/, 'tickets'), { method: 'POST', headers });
      if (answer.status === 201) return ((await answer.json()) as { ticket: string }).ticket;
      await answer.body?.cancel();
      token = await options.renew();
      return undefined;
    });
    open(
      `${streamUrl}?ticket=${ticket}&after=${seen.sequences.at(-1) ?? 0}`,
      () => ({}),
      () => Promise.resolve(),
    );
  }

  const renew = async (): Promise<void> => {
    token = await options.renew();
  };
  if (carrier === 'ticket') void withTicket();
  else if (carrier === 'header') open(streamUrl, () => ({ authorization: `Bearer ${token}` }), renew);
  else open(streamUrl, () => ({ cookie: `ledgerline_token=${token}` }), renew);
  return seen;
}
