/** What a person or a model said. */
import type { ReactElement } from 'react';
import type { MessageItem as Message } from '../../src/timeline-item.ts';
import { PlainText } from './plain-text.tsx';
import { useReading } from './reading.ts';

export function MessageItem({ item }: { readonly item: Message }): ReactElement {
  const { isOver } = useReading();
  const isStreaming = !item.isComplete && !item.isAbandoned && !isOver;
  return (
    <div className={item.role === 'user' ? 'message from-user' : 'message'} data-role={item.role}>
      {item.role !== 'user' && item.role !== 'assistant' && <div className="message-role">{item.role}</div>}
      <PlainText text={item.text} isStreaming={isStreaming} />
    </div>
  );
}
