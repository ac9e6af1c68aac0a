import type { Config } from './config.ts';
import { knowledgeBytes } from './knowledge/versions.ts';
import { createStorage, type Storage } from './merchants/storage.ts';
import { inboxBytes } from './notifications/store.ts';

/** What the features store, against the allowance of a merchant. */
export const openStorage = ({ storagePerMerchantMb }: Pick<Config, 'storagePerMerchantMb'>): Storage =>
  createStorage([inboxBytes('$1'), knowledgeBytes('$1')], storagePerMerchantMb * 1_000_000);
