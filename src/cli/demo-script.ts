/** The story of the demo: a customer reports a damaged delivery; a support agent looks into it, asks for leave, and answers. */

/** What the customer says, and what the agent does about it. */
export interface Exchange {
  readonly question: string;
  /** At most one of them, or of those behind it, is an approval; the last one is an answer. */
  readonly beats: readonly Beat[];
}

export type Beat =
  | { readonly kind: 'thought' | 'answer'; readonly text: string }
  /** An answer of which no more comes: the attempt fails, and the next one begins anew. */
  | { readonly kind: 'fragment'; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly tool: string;
      readonly args: object;
      readonly takesMs: number;
      readonly result: object;
    }
  | {
      readonly kind: 'approval';
      readonly tool: string;
      readonly args: object;
      readonly reason: string;
      /** How the turn goes on behind it. */
      readonly approved: readonly Beat[];
      readonly denied: readonly Beat[];
    };

const refund = {
  tool: 'refunds.create',
  args: { order: '58213', amount: '9.95 EUR', reason: 'transit damage' },
} as const;

const bookCourier: Beat = {
  kind: 'tool',
  tool: 'couriers.book',
  args: { sku: 'TANK-400', from: 'Utrecht-Noord', to: '3511', window: 'today' },
  takesMs: 2_200,
  result: { booking: 'CB-90417', window: '16:00 to 18:00', tracking: 'https://track.example/CB-90417' },
};

export const demoScript: readonly Exchange[] = [
  {
    question:
      'Hi, my espresso machine arrived this morning (order 58213) and the water tank is cracked right across the bottom. ' +
      'I have guests on Saturday and was counting on it. What can you do?',
    beats: [
      {
        kind: 'thought',
        text:
          'The customer reports a cracked water tank on order 58213 and needs a working machine by Saturday. Before I offer ' +
          'anything I should see what was ordered, when it was delivered, and whether the tank can be sent as a part or the ' +
          'whole machine has to be replaced. A part would be faster than a swap, if it is in stock close to them.',
      },
      {
        kind: 'tool',
        tool: 'orders.lookup',
        args: { order: '58213' },
        takesMs: 1_400,
        result: {
          order: '58213',
          placed: '2026-11-23',
          delivered: '2026-11-30T08:41:00+01:00',
          items: [{ sku: 'ESP-400-BK', name: 'Aurelia 400 espresso machine', quantity: 1, price: '489.00 EUR' }],
          shipping: { city: 'Utrecht', postcode: '3511', carrier: 'PostNL', paid: '9.95 EUR' },
        },
      },
      {
        kind: 'thought',
        text:
          'An Aurelia 400, delivered a few hours ago, so this falls under transit damage. The tank is a user-replaceable part ' +
          'on this model. Let me check the stock of the part, and of the machine itself as a fallback.',
      },
      {
        kind: 'tool',
        tool: 'stock.check',
        args: { skus: ['TANK-400', 'ESP-400-BK'], near: '3511' },
        takesMs: 1_900,
        result: {
          'TANK-400': { available: 14, warehouse: 'Utrecht-Noord', courier: 'same day until 15:00' },
          'ESP-400-BK': { available: 0, next: '2026-12-09' },
        },
      },
      {
        kind: 'answer',
        text:
          'I am sorry about that: a cracked tank on the first morning is not the start you should have had. The good news is ' +
          'that you do not have to send the machine back. On the Aurelia 400 the tank lifts out without tools, and I can see ' +
          'fourteen new ones in our warehouse in Utrecht, so a replacement can be with you today. Let me check what our ' +
          'transit-damage policy covers, so that I can arrange the rest as well.',
      },
      {
        kind: 'tool',
        tool: 'policy.search',
        args: { query: 'transit damage replacement part goodwill' },
        takesMs: 1_100,
        result: {
          documents: [
            {
              title: 'Transit damage',
              text: 'Replacement parts travel free of charge by the fastest courier available.',
            },
            {
              title: 'Goodwill',
              text: 'Agents may refund shipping. Any refund of money needs the approval of a person.',
            },
          ],
        },
      },
      {
        kind: 'thought',
        text:
          'The part is free and goes by the fastest courier. I may refund the shipping they paid, 9.95 euros, but a refund ' +
          'needs somebody to approve it. I will ask for that first, and book the courier once I have the answer, so that the ' +
          'customer hears of both at the same time.',
      },
      {
        kind: 'approval',
        ...refund,
        reason: 'The agent wants to refund the shipping of order 58213.',
        approved: [
          {
            kind: 'tool',
            ...refund,
            takesMs: 1_600,
            result: { refund: 'rf_7Q2M', amount: '9.95 EUR', arrives: 'within 3 working days' },
          },
          bookCourier,
          {
            kind: 'answer',
            text:
              'It is all arranged:\n\n' +
              '- **A new water tank** leaves our warehouse this afternoon and arrives **today between 16:00 and 18:00**. You can ' +
              'follow the courier at https://track.example/CB-90417.\n' +
              '- **Your shipping of €9.95** is refunded to the card you paid with, within three working days.\n' +
              '- There is nothing to send back. Please just recycle the broken tank.\n\n' +
              'To swap it, switch the machine off, open the lid at the back, and lift the old tank straight up by its handle. The ' +
              'new one clicks in when the valve at the bottom meets its seat. Before the first coffee, run one full tank of fresh ' +
              'water through the machine without a capsule: that rinses the lines and shows you at once whether everything is tight.\n\n' +
              'Should you see even a drop underneath after that, tell me here and we will collect the whole machine.',
          },
        ],
        denied: [
          bookCourier,
          {
            kind: 'answer',
            text:
              'Your new water tank is on its way: it arrives **today between 16:00 and 18:00**, free of charge, and you can follow ' +
              'the courier at https://track.example/CB-90417. The shipping that you paid I was not allowed to refund, so that ' +
              'stays as it is. There is nothing to send back; please just recycle the broken tank.',
          },
        ],
      },
    ],
  },
  {
    question: 'That was quick, thank you! One more thing: do I have to descale it before the weekend?',
    beats: [
      {
        kind: 'thought',
        text: 'A brand-new machine does not need descaling, but the water hardness in Utrecht decides how soon it will.',
      },
      {
        kind: 'tool',
        tool: 'water.hardness',
        args: { postcode: '3511' },
        takesMs: 900,
        result: { postcode: '3511', hardness: '7.6 °dH', class: 'medium' },
      },
      { kind: 'fragment', text: 'No need: a new machine has no scale in it yet. The water in your part of' },
      {
        kind: 'answer',
        text:
          'No need: a new machine has no scale in it yet. The water in your part of Utrecht is of medium hardness (7.6 °dH), so ' +
          'every three months is about right, and the orange light will remind you in good time. Enjoy Saturday! ☕',
      },
    ],
  },
];
