import { ONLY_IDS, type Table } from '../database/tables.ts';

export const AUDIT_TABLES: readonly Table[] = [
  {
    ...{ name: 'audit_events', key: 'at id', line: 'audit_event' },
    exported: 'id at what actor user_id key_id name address about count last_at',
    internal: 'merge_key',
    json: 'about',
    customer: { because: ONLY_IDS, erase: 'stays' },
    user: {
      rows: 'user_id = :whose',
      only: 'id at what actor address about count last_at',
      erase: 'forgetActor',
    },
    kept: [{ since: 'at', for: 'audit' }],
  },
];
