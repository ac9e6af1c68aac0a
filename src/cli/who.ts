import { userInfo } from 'node:os';
import { type Event, recordEvent, type Who } from '../audit/record.ts';
import type { Queries } from '../database/database.ts';

/** Whoever runs this command. */
export const COMMAND_LINE: Who = { kind: 'command_line', name: systemUser() };

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user's id may have no name.
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

/** Writes down what this command changes. Use the transaction of the change. */
export const recordCommand = (
  queries: Queries,
  what: Event['what'],
  merchantId: number | null,
  about: NonNullable<Event['about']> = {},
): Promise<void> => recordEvent(queries, { what, merchantId, who: COMMAND_LINE, at: new Date(), about });
