import type { Config } from './config.ts';
import { conversationBytes } from './conversations/storage.ts';
import { knowledgeBytes } from './knowledge/versions.ts';
import { createStorage, type Storage } from './merchants/storage.ts';
import { inboxBytes } from './notifications/inboxes.ts';

/** What the features store: SQL expressions of a merchant. */
export const storedBytes = (merchantId: string): string[] => [
  inboxBytes(merchantId),
  knowledgeBytes(merchantId),
  conversationBytes(merchantId),
];

/** What the features store, against the allowance of a merchant. */
export const openStorage = ({ storagePerMerchantMb }: Pick<Config, 'storagePerMerchantMb'>): Storage =>
  createStorage(storedBytes('$1'), storagePerMerchantMb * 1_000_000);
