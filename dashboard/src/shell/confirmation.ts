import type { ReactNode } from 'react';
import type { TextKey } from '../i18n/texts.ts';
import { pauseShortcuts } from '../shortcuts/useShortcuts.ts';
import { createStore } from './store.ts';

interface Question {
  title: ReactNode;
  text?: ReactNode;
  /** The button that does it. */
  action: TextKey;
  /** False: it harms nothing of the user's own. */
  isDangerous?: boolean;
}

/** What the user is asked before something that cannot be undone. */
export const confirmation = createStore<(Question & { answer: (yes: boolean) => void }) | undefined>(
  undefined,
);

/** Resolves to whether the user wants it. */
export function askFirst(question: Question): Promise<boolean> {
  confirmation.get()?.answer(false);
  // The dialog may still be loading.
  pauseShortcuts(true);
  return new Promise((resolve) => {
    confirmation.set({
      ...question,
      answer(yes) {
        confirmation.set(undefined);
        pauseShortcuts(false);
        resolve(yes);
      },
    });
  });
}
