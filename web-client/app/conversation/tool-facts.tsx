/** What the journal says of a call: its class, its step, whether an attempt found it there, who resolved it, and who is told. */
import type { ReactElement } from 'react';
import type { ToolItem } from '../../src/timeline-item.ts';
import { formatInteger } from '../base/format.ts';
import { Icon } from '../base/icon.tsx';
import { EffectBadge } from '../work/effect-badge.tsx';

export function ToolFacts({ item }: { readonly item: ToolItem }): ReactElement {
  const { effect, step, isFromJournal, resolvedBy, deliveries = [] } = item;
  return (
    <ul className="tool-facts">
      {effect !== undefined && (
        <li>
          <EffectBadge effect={effect} />
        </li>
      )}
      {typeof step === 'number' && <li>Step {formatInteger(step)}</li>}
      {isFromJournal === true && <li title="An earlier attempt made the call; this one did not.">From the journal</li>}
      {resolvedBy !== undefined && <li>Resolved by {resolvedBy}</li>}
      {deliveries.map(({ number, topic }) => (
        <li key={number} title="What others are told because of it">
          <Icon name="send" />
          <span className="visually-hidden">Delivery </span>
          <code>{topic}</code> {formatInteger(number)}
        </li>
      ))}
    </ul>
  );
}
