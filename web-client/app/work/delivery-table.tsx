/** What others are told because of a session's effects, the newest first: its topic, and how far it came. */
import type { ReactElement } from 'react';
import { formatFullTime, formatInteger } from '../base/format.ts';
import type { Delivery, DeliveryPage } from './delivery-list.ts';
import { toDeliveryWords } from './effect-words.ts';

export const DeliveryTable = ({ page: { deliveries, next } }: { readonly page: DeliveryPage }): ReactElement => (
  <>
    <h3 className="work-title">Deliveries</h3>
    {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else nobody without a pointer could scroll it */}
    <section className="work-scroll" tabIndex={0} aria-label="Deliveries, the newest first">
      <table>
        <colgroup>
          <col className="column-number" />
          <col />
          <col className="column-state" />
        </colgroup>
        <thead className="visually-hidden">
          <tr>
            <th scope="col">Number</th>
            <th scope="col">Topic</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <DeliveryRow key={delivery.number} delivery={delivery} />
          ))}
        </tbody>
      </table>
      {next !== null && <p className="hint">Older ones: ledgerline deliveries</p>}
    </section>
  </>
);

function DeliveryRow({ delivery }: { readonly delivery: Delivery }): ReactElement {
  const { number, topic, state, since } = delivery;
  const { tone, label, detail } = toDeliveryWords(delivery);
  return (
    <tr className={`work-row is-${tone}`} data-delivery={number} data-state={state}>
      <td className="work-number">{formatInteger(number)}</td>
      <td className="work-what">
        <code>{topic}</code>
        {detail !== undefined && <div className="work-detail">{detail}</div>}
      </td>
      <td className="work-state" title={formatFullTime(since)}>
        <span className="work-label">{label}</span>
      </td>
    </tr>
  );
}
