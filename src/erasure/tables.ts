import { PASSING, type Table } from '../database/tables.ts';

export const ERASURE_TABLES: readonly Table[] = [
  {
    // The row is removed when the erasure is finished.
    name: 'erasures',
    internal: 'id merchant_id person step due_at created_at',
    because: PASSING,
    customer: { erase: 'stays' },
    user: { erase: 'stays' },
  },
];
