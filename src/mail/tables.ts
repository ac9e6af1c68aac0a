import { DAY_MS, SECRETS, STAYS, type Table } from '../database/tables.ts';

export const MAIL_TABLES: readonly Table[] = [
  {
    // The text is removed when it is sent, and the address is a hash.
    name: 'mails',
    internal: 'id kind recipient sealed message_id state due_at attempts expires_at code created_at',
    because: SECRETS,
    ...STAYS,
    // Limits count mails of the last day; owners see for as long as an invitation is valid what became of its mail.
    // Sending may be on hold, or off, for longer.
    kept: [{ since: 'created_at', for: 8 * DAY_MS, where: `state <> 'queued'` }],
  },
];
