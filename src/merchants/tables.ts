import type { Table } from '../database/tables.ts';
import { findMerchant } from './store.ts';

export const MERCHANT_TABLES: readonly Table[] = [
  {
    ...{ name: 'merchants', of: 'server', line: 'merchant' },
    exported:
      'id name country deliver confident undo_seconds language time_zone opening_hours quiet_hours waiting_message ' +
      'developer_tools created_at',
    internal: 'deleting_at',
    merchant: { read: async (queries, id) => [(await findMerchant(queries, id)) ?? []].flat() },
  },
];
