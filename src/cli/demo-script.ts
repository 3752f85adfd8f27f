/** The story of the demo: a customer reports a damaged delivery; a support agent looks into it, asks for leave, and answers. */
import { DEMO_ORDER, euros, findOrder } from '../example/order.ts';
import { questionOf } from '../example/refund-tools.ts';

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
      /** What it promises; `lookup_order` is the example's own, and real. */
      readonly effect: 'read' | 'keyed';
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

const DEPOSIT_CENTS = findOrder(DEMO_ORDER)?.depositCents ?? 0;

const refund = { tool: 'issue_refund', args: { order: DEMO_ORDER, cents: DEPOSIT_CENTS } } as const;

const bookCourier: Beat = {
  kind: 'tool',
  tool: 'book_courier',
  effect: 'keyed',
  args: { sku: 'TANK-400', from: 'Utrecht-Noord', to: '3511', window: 'today' },
  takesMs: 2_200,
  result: { booking: 'CB-90417', window: '16:00 to 18:00', tracking: 'https://track.example/CB-90417' },
};

export const demoScript: readonly Exchange[] = [
  {
    question:
      'Hi, my espresso machine arrived this morning (order 7731) and the water tank is cracked right across the bottom. ' +
      'I have guests on Saturday and was counting on it. What can you do?',
    beats: [
      {
        kind: 'thought',
        text:
          'The customer reports a cracked water tank on order 7731 and needs a working machine by Saturday. Before I offer ' +
          'anything I should see what was ordered, when it was delivered, and whether the tank can be sent as a part or the ' +
          'whole machine has to be replaced. A part would be faster than a swap, if it is in stock close to them.',
      },
      {
        kind: 'tool',
        tool: 'lookup_order',
        effect: 'read',
        args: { order: DEMO_ORDER },
        takesMs: 900,
        result: findOrder(DEMO_ORDER) ?? {},
      },
      {
        kind: 'thought',
        text:
          'An Aurelia 400, delivered a few hours ago, so this falls under transit damage. The tank is a user-replaceable part ' +
          'on this model. Let me check the stock of the part, and of the machine itself as a fallback.',
      },
      {
        kind: 'tool',
        tool: 'check_stock',
        effect: 'read',
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
        tool: 'search_policy',
        effect: 'read',
        args: { query: 'transit damage replacement part deposit' },
        takesMs: 1_100,
        result: {
          documents: [
            {
              title: 'Transit damage',
              text: 'Replacement parts travel free of charge by the fastest courier available.',
            },
            {
              title: 'Deposit',
              text: 'A box that came damaged need not come back. Any refund of money needs the approval of a person.',
            },
          ],
        },
      },
      {
        kind: 'thought',
        text:
          `The part is free and goes by the fastest courier. The box need not come back, so its deposit of ${euros(DEPOSIT_CENTS)} ` +
          'is theirs, but a refund needs somebody to approve it, however small. I will ask for that first, and book the courier ' +
          'once I have the answer, so that the customer hears of both at the same time.',
      },
      {
        kind: 'approval',
        ...refund,
        reason: questionOf(refund.args) ?? '',
        approved: [
          bookCourier,
          {
            kind: 'answer',
            text:
              'It is all arranged:\n\n' +
              '- **A new water tank** leaves our warehouse this afternoon and arrives **today between 16:00 and 18:00**. You can ' +
              'follow the courier at https://track.example/CB-90417.\n' +
              `- **The deposit of your box, ${euros(DEPOSIT_CENTS)},** is refunded to the card you paid with, within three working days.\n` +
              '- There is nothing to send back. Please just recycle the broken tank, and the box.\n\n' +
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
              'the courier at https://track.example/CB-90417. The deposit of your box I was not allowed to refund, so please ' +
              'hand the box back when you can. The broken tank you can just recycle.',
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
        tool: 'water_hardness',
        effect: 'read',
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
