import type { Engine, Queries } from '../../../database/database.ts';
import type { LastWrote } from '../channel.ts';

/** A customer's message opens the window: for 24 hours after it free text may be sent. */

const WINDOW_MS = 24 * 60 * 60_000;

const ELEMENTS: Readonly<Record<Engine, string>> = {
  sqlite: 'select value from json_each($2)',
  postgres: 'select json_array_elements_text($2::json)',
};

export function windowsOpenedAt(
  queries: Queries,
  channelId: string,
  phones: readonly string[],
): Promise<LastWrote[]> {
  return queries.all<LastWrote>(
    `select phone, opened_at as at from customer_windows
      where channel_id = $1 and phone in (${ELEMENTS[queries.engine]})`,
    [channelId, JSON.stringify(phones)],
  );
}

export async function windowIsOpen(
  queries: Queries,
  channelId: string,
  phone: string,
  at: Date,
): Promise<boolean> {
  const row = await queries.one<{ opened_at: string }>(
    'select opened_at from customer_windows where channel_id = $1 and phone = $2',
    [channelId, phone],
  );
  return row !== undefined && at.getTime() - Date.parse(row.opened_at) < WINDOW_MS;
}
