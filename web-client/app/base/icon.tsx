/** The page's few icons, drawn in the colour of the text beside them. */
import type { ReactElement } from 'react';

const paths = {
  plus: 'M8 3v10M3 8h10',
  close: 'm4 4 8 8m0-8-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  up: 'm4 10 4-4 4 4',
  down: 'm4 6 4 4 4-4',
  right: 'm6 4 4 4-4 4',
  latest: 'M8 3v9m-4-4 4 4 4-4',
  check: 'm3.5 8.5 3 3 6-7',
  alert: 'M8 5v4m0 2.2v.1M8 1.8 1.6 13.2h12.8L8 1.8Z',
  tool: 'M10.2 2.3a3.4 3.4 0 0 0-3 4.7L2.6 11.6a1.3 1.3 0 0 0 1.8 1.8L9 8.8a3.4 3.4 0 0 0 4.6-4l-2 2-2-.6-.5-2 2-2c-.3 0-.6 0-.9.1Z',
  person: 'M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8Zm-5.2 5.8a5.2 5.2 0 0 1 10.4 0',
  thought: 'M5.5 13h5M6.2 11c0-1.4-2.2-2-2.2-4.6a4 4 0 0 1 8 0C12 9 9.8 9.6 9.8 11Z',
  system: 'M2.2 3.2h11.6v7.6H2.2zM6 13.5h4',
  light:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm0-9.8v1M8 13.8v1M1.2 8h1M13.8 8h1M3.2 3.2l.7.7m8.2 8.2.7.7m0-9.6-.7.7m-8.2 8.2-.7.7',
  dark: 'M13.5 9.7A5.8 5.8 0 0 1 6.3 2.5a5.8 5.8 0 1 0 7.2 7.2Z',
  copy: 'M5.5 5.5h7.5v8h-7.5zM10.5 5.5v-3H3v8h2.5',
  leave: 'M6.5 2.5h-4v11h4m3-8.5 3 3-3 3m3-3H6.5',
  sessions: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  conversation: 'M2.5 3h11v8H8l-3 2.5V11H2.5Z',
  ledger: 'M3 2.5h10v11H3zM6.2 2.5v11M8.5 6h2.5M8.5 9h2.5',
  stop: 'M4 4h8v8H4Z',
  send: 'M8 13V3.5M4 7.5l4-4 4 4',
  drop: 'M2.5 8h3.5m4 0h3.5M6.5 6l3 4m0-4-3 4',
  burst: 'M2 8h.1m3.3 0h.1m3.3 0h.1M12 6.2l2.5 3.6m0-3.6L12 9.8',
  sever: 'M2 8h4m4 0h4M7.5 3.5 8.5 5M7.5 11l1 1.5',
  pause: 'M5.5 3.5v9m5-9v9',
  restart: 'M13 8a5 5 0 1 1-1.5-3.5L13 6m0-3.5V6H9.5',
  pulse: 'M1.8 8.5h3l2-5 2.6 9 1.8-4h3',
  crash: 'M9 1.8 3.5 9H8l-1 5.2L12.5 7H8Z',
  key: 'M5.5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm2.2-5.2 5.3-5.3m-2.6 2.6 1.8 1.8',
  inbox: 'M2.5 9.5 4.2 3h7.6l1.7 6.5V13h-11ZM2.5 9.5H6l.8 1.6h2.4L10 9.5h3.5',
  keyboard: 'M1.8 4h12.4v8H1.8zM4.5 6.7h.1m2.3 0h.1m2.3 0h.1m2.2 0h.1M5 9.5h6',
} as const;

export type IconName = keyof typeof paths;

/** Always beside words, or inside a button with a name: nothing is read out for it. */
export const Icon = ({ name }: { readonly name: IconName }): ReactElement => (
  <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
);
