import type { InboxItem } from '../../../src/contract/inbox.ts';

type Ask = Pick<NonNullable<InboxItem['ask']>, 'status' | 'deliver'>;

/** The assistant no longer waits for the answer, but the merchant can still give it. */
export const isExpired = (ask: Ask | null | undefined): boolean => ask?.status === 'expired';
/** Deskbell sends nothing: the assistant passes the answer on. */
export const isRelayed = (ask: Ask | null | undefined): boolean => ask?.deliver === 'assistant';
