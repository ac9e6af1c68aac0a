import type { Database, Transaction } from './database.ts';

/** As the engines make it. */
export type BareTransaction = Omit<Transaction, 'afterCommit'>;

/** Adds `afterCommit` to an engine's transactions. What an attempt that was rolled back asked for does not happen. */
export const withEffects =
  (transact: <T>(work: (tx: BareTransaction) => Promise<T>) => Promise<T>): Database['transaction'] =>
  async (work) => {
    let effects: (() => void)[] = [];
    const value = await transact((tx) => {
      effects = [];
      return work({ ...tx, afterCommit: (effect) => void effects.push(effect) });
    });
    for (const effect of effects) effect();
    return value;
  };
