import { createStore } from '../../shell/store.ts';

interface Fixing {
  id: number;
  conversationId: number;
  name: string;
  phone: string;
}

/** Whose number the user is fixing. */
export const fixing = createStore<Fixing | undefined>(undefined);
