/** A page with the AI SDK's `useChat` over a session: loaded, resumed, and shown, as a user of both would write it. */
import { useChat } from '@ai-sdk/react';
import { readUIMessageStream } from 'ai';
import type { UIMessage } from 'ai';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createChatTransport, loadMessages } from '../../web-client/src/ai.ts';

/** Of the address: where the gateway is, whose session, and by which token. */
const query = new URLSearchParams(location.hash.slice(1));
const url = query.get('url') ?? '';
const session = query.get('session') ?? '';
const token = query.get('token') ?? '';

const { messages: loaded, cursor } = await loadMessages({ url, token, session, readUIMessageStream });
const transport = createChatTransport({ url, token, after: cursor });

function Page() {
  const { messages, status, error, sendMessage, stop } = useChat({
    id: session,
    messages: loaded,
    transport,
    resume: true,
  });
  return (
    <main data-status={status}>
      {messages.map((message) => (
        <Message key={message.id} message={message} />
      ))}
      <p role="alert">{error?.message}</p>
      <button type="button" onClick={() => void sendMessage({ text: 'Go on.' })}>
        Send
      </button>
      <button type="button" onClick={() => void stop()}>
        Stop
      </button>
    </main>
  );
}

/** The text of each part is what stands on the screen, to the last space. */
function Message({ message }: { readonly message: UIMessage }) {
  return (
    <article data-role={message.role} style={{ whiteSpace: 'pre-wrap' }}>
      {message.parts.map((part, index) => (
        // Parts have no ids, and only ever grow in number.
        // oxlint-disable-next-line react/no-array-index-key
        <Part key={index} part={part} />
      ))}
    </article>
  );
}

function Part({ part }: { readonly part: UIMessage['parts'][number] }) {
  if (part.type === 'text' || part.type === 'reasoning') return <div data-part={part.type}>{part.text}</div>;
  if (!('toolCallId' in part)) return <hr data-part={part.type} />;
  const { type, state, input, output } = part;
  return <div data-part={type}>{JSON.stringify({ state, input, output })}</div>;
}

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no root');
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
