import { createStore } from '../shell/store.ts';

/** When this tab last saw somebody type an answer, by notification. */
export const lastTyped = createStore<{ id: number; at: number } | undefined>(undefined);

/** Call it for every change of the text of an answer. */
export function reportTyping(id: number): void {
  lastTyped.set({ id, at: Date.now() });
}
