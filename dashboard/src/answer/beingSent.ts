import { createStore } from '../shell/store.ts';

/** Answers that are sent or taken back, as long as the server has not confirmed it. Nobody can write in their forms. */
export const beingSent = createStore<ReadonlySet<number>>(new Set());
export const isBeingSent = (id: number): boolean => beingSent.get().has(id);

export function setBeingSent(ids: readonly number[], sending: boolean): void {
  const next = new Set(beingSent.get());
  for (const id of ids) {
    if (sending) next.add(id);
    else next.delete(id);
  }
  beingSent.set(next);
}
