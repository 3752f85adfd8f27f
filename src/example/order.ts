/** The orders of the example's made-up shop (pure): what was bought, and what may be given back. Amounts are cents. */

export interface Order {
  readonly order: string;
  readonly item: string;
  readonly delivered: string;
  readonly priceCents: number;
  /** For the box that it came in: what a refund gives back unless somebody asks for more. */
  readonly depositCents: number;
}

const orders: readonly Order[] = [
  {
    order: '7731',
    item: 'Aurelia 400 espresso machine',
    delivered: '2026-11-30',
    priceCents: 48_900,
    depositCents: 40,
  },
  { order: '7732', item: 'Aurelia milk jug', delivered: '2026-11-27', priceCents: 1_900, depositCents: 15 },
  { order: '7733', item: 'Descaling set', delivered: '2026-11-28', priceCents: 1_250, depositCents: 15 },
];

export const DEMO_ORDER = '7731';

export const findOrder = (order: string): Order | undefined => orders.find((known) => known.order === order);

/** No more than was paid. */
export const mostCents = ({ priceCents, depositCents }: Order): number => priceCents + depositCents;

/** The order that a text speaks of, by its number; that of the demo if it names none. */
export const orderIn = (text: string): string => /\b\d{3,10}\b/.exec(text)?.[0] ?? DEMO_ORDER;

/** As people read it. */
export const euros = (cents: number): string => `€${(cents / 100).toFixed(2)}`;
