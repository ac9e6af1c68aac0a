import { createStore } from '../shell/store.ts';

interface TextToInsert {
  id: number;
  text: string;
  /** The document that it is from. */
  document?: { id: number; title: string } | undefined;
}

/** The text of a chosen suggestion. The form of that notification inserts it. */
export const textToInsert = createStore<TextToInsert | undefined>(undefined);
