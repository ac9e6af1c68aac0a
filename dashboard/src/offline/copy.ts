import { request } from '../api/client.ts';
import { sessionUserId } from '../session/session.ts';

/** The last list of open questions, to read while there is no connection. It is removed when the session ends. */
export interface OfflineCopy {
  userId: number;
  at: string;
  items: readonly OfflineItem[];
}

interface OfflineItem {
  id: number;
  customer: string;
  question: string;
  created_at: string;
}

const KEY = 'deskbell.offline';
const ITEMS_MAX = 50;
const QUESTION_MAX = 500;

interface Listed {
  id: number;
  created_at: string;
  question: string;
  customer: { name: string };
}

/** Loads and stores the list. Without a connection the earlier one stays. */
export async function keepOfflineCopy(userId: number): Promise<void> {
  try {
    const call = { method: 'GET', path: `/api/v1/inbox?tab=open&limit=${ITEMS_MAX}` } as const;
    const { items } = await request<{ items: readonly Listed[] }>(call);
    // The response may arrive after the user has signed out, here or in another tab.
    if (sessionUserId() !== userId) return;
    const copy: OfflineCopy = {
      userId,
      at: new Date().toISOString(),
      items: items.map(({ id, created_at, question, customer }) => ({
        ...{ id, created_at, customer: customer.name },
        question: question.slice(0, QUESTION_MAX),
      })),
    };
    localStorage.setItem(KEY, JSON.stringify(copy));
  } catch {
    // No connection, or storage is full.
  }
}

/** Undefined if it is not of the user who is signed in. */
export function readOfflineCopy(): OfflineCopy | undefined {
  const copy = readStored();
  return copy?.userId === sessionUserId() ? copy : undefined;
}

function readStored(): OfflineCopy | undefined {
  try {
    return (JSON.parse(localStorage.getItem(KEY) ?? 'null') as OfflineCopy | null) ?? undefined;
  } catch {
    return undefined;
  }
}

export const removeOfflineCopy = (): void => localStorage.removeItem(KEY);

/** Whoever signs in must not keep what the previous user has left. */
export function removeOthersOfflineCopy(userId: number): void {
  if (readStored()?.userId !== userId) removeOfflineCopy();
}
