/** Who looks on while rooms repair what the bus lost, and may hold the head check back: a development server; nobody else. */
import type { Repair } from './held.ts';

export interface RoomsObserver {
  /** A room's watermark is about to rise past something that no broadcast brought. Must not throw. */
  onRepaired(session: string, repair: Repair): void;
  /** While true, rooms are compared with the ledger only where a reader's request asks for it. */
  isHeadCheckPaused(): boolean;
}
