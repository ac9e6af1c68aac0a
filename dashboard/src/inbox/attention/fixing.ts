import { createStore } from '../../shell/store.ts';
import type { Failed } from './sendAgain.ts';

export interface Fixing {
  message: Failed;
  conversationId: number;
  /** The customer's. */
  name: string;
  phone: string;
}

/** Whose number the user is fixing. */
export const fixing = createStore<Fixing | undefined>(undefined);
