import { createStore } from '../shell/store.ts';

/** The text of a suggestion on its way into the form of its notification. */
export const reused = createStore<{ id: number; text: string } | undefined>(undefined);
