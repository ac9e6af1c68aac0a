import { createStore } from '../shell/store.ts';

/** The text of a chosen suggestion. The form of that notification inserts it. */
export const textToInsert = createStore<{ id: number; text: string } | undefined>(undefined);
