import { ONLY_IDS, type Table } from '../database/tables.ts';

export const AUDIT_TABLES: readonly Table[] = [
  {
    name: 'audit_events',
    key: 'at id',
    exported: 'id at what actor user_id key_id name address about count last_at',
    internal: 'merchant_id merge_key',
    json: 'about',
    merchant: { line: 'audit_event' },
    because: ONLY_IDS,
    customer: { erase: 'stays' },
    user: {
      line: 'audit_event',
      rows: 'user_id = :whose',
      only: 'id at what actor address about count last_at',
      erase: 'forgetActor',
    },
    kept: [{ since: 'at', for: 'audit' }],
  },
];
