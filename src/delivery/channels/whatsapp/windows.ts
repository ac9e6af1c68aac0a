import type { Engine, Queries } from '../../../database/database.ts';
import type { LastWrote } from '../channel.ts';

/** A customer's message opens the window: free text may be sent for the next 24 hours. */

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

export interface Opened {
  channelId: string;
  phone: string;
  openedAt: string;
}

/** The elements of the JSON array in $1, each as `value`. */
const OPENED: Readonly<Record<Engine, string>> = {
  sqlite: 'json_each($1) as opened',
  postgres: 'jsonb_array_elements($1::jsonb) as opened (value)',
};

/** One statement, in key order: two bodies stored at the same time must not deadlock. */
export async function openWindows(tx: Queries, opened: readonly Opened[]): Promise<void> {
  const latest = new Map<string, Opened>();
  for (const one of opened) {
    const key = `${one.channelId} ${one.phone}`;
    const known = latest.get(key);
    if (!known || known.openedAt < one.openedAt) latest.set(key, one);
  }
  if (latest.size === 0) return;
  const rows = [...latest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  await tx.run(
    `insert into customer_windows (channel_id, phone, opened_at)
      select value ->> 'channelId', value ->> 'phone', value ->> 'openedAt' from ${OPENED[tx.engine]} where true
      on conflict (channel_id, phone) do update set opened_at = excluded.opened_at
        where excluded.opened_at > customer_windows.opened_at
      returning phone`,
    [JSON.stringify(rows)],
  );
}

/** Closes the window, unless the customer has opened it again since that time. */
export async function closeWindow(
  queries: Queries,
  channelId: string,
  phone: string,
  asOf: string,
): Promise<void> {
  await queries.run(
    'delete from customer_windows where channel_id = $1 and phone = $2 and opened_at <= $3 returning phone',
    [channelId, phone, asOf],
  );
}
