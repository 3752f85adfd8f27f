/** What a transaction's work may send, and until when: nothing of it comes behind its own end, and all of it has come back before the commit. */
import type { TransactionSql as DriverTransaction } from 'postgres';
import { LedgerlineError } from '../base/errors.ts';

type TransactionSql = DriverTransaction<{ bigint: number }>;
type Work<T> = (tx: TransactionSql) => Promise<T>;

/** A statement as the driver has it: sent by its `handle`, when somebody first waits for it, which may be long after it was made. */
interface Statement extends Promise<unknown> {
  executed: boolean;
  handle: () => unknown;
  reject: (thrown: Error) => void;
  /** Of a cursor: it is read piece by piece, and its own promise may never settle. */
  readonly cursorRows?: number;
}

const isStatement = (made: unknown): made is Statement => made instanceof Promise && 'handle' in made;

const over = (): LedgerlineError => new LedgerlineError('unavailable', 'the transaction is over');

/**
 * Work with an end. What it sent behind that would be a commit of its own, or a part of somebody else's transaction. What it has on
 * its way when it ends, and does not wait for, may fail behind the COMMIT: that is a ROLLBACK then, of which neither server nor driver
 * says a word, and it would be told as done. `isOver` of the work around it; `onFailure` hears of each statement that fails.
 */
export function guarded<T>(
  work: Work<T>,
  onFailure: (thrown: unknown) => void,
  isOver: () => boolean = () => false,
): Work<T> {
  return async (tx) => {
    let hasEnded = false;
    const isClosed = (): boolean => hasEnded || isOver();
    const underWay = new Set<Promise<unknown>>();

    function watch(sent: Promise<unknown>): void {
      const gone = (): void => void underWay.delete(sent);
      underWay.add(sent);
      sent.then(gone, (thrown: unknown) => {
        gone();
        onFailure(thrown);
      });
    }

    function watched<Made>(made: Made): Made {
      if (!isStatement(made)) return made;
      const { handle } = made;
      made.handle = () => {
        if (made.executed) return undefined;
        if (isClosed()) {
          made.executed = true;
          made.reject(over());
          return void made.catch(() => undefined); // whoever sent it need not wait for it
        }
        const sent = handle.call(made);
        if (made.cursorRows === undefined) watch(made);
        return sent;
      };
      return made;
    }

    type Callable = (...given: unknown[]) => unknown;
    const open =
      (callable: Callable): Callable =>
      (...given) => {
        if (isClosed()) throw over();
        return callable(...given);
      };
    const within = (given: unknown): unknown =>
      typeof given === 'function' ? guarded(given as Work<unknown>, onFailure, isClosed) : given;
    const special: Readonly<Record<string, Callable>> = {
      unsafe: open((...given) => watched((tx.unsafe as Callable)(...given))),
      file: open((...given) => watched((tx.file as Callable)(...given))),
      savepoint: open((...given) => {
        const saved = (tx.savepoint as Callable)(...given.map(within)) as Promise<unknown>;
        watch(saved);
        return saved;
      }),
    };
    const proxy = new Proxy(tx, {
      apply: (target, self, given: unknown[]) => open(() => watched(Reflect.apply(target, self, given) as unknown))(),
      get: (target, name) =>
        typeof name === 'string' && Object.hasOwn(special, name)
          ? special[name]
          : (Reflect.get(target, name) as unknown),
    });

    let result: T;
    try {
      result = await work(proxy);
    } finally {
      hasEnded = true;
    }
    while (underWay.size > 0) await Promise.allSettled(underWay);
    return result;
  };
}
