import type { Queries } from '../../../database/database.ts';

/** Until when a customer may be written to freely: for 24 hours after the last message to this number. */
export const WINDOW_MS = 24 * 60 * 60_000;

export async function openWindow(
  queries: Queries,
  channelId: string,
  phone: string,
  openedAt: string,
): Promise<void> {
  await queries.run(
    `insert into customer_windows (channel_id, phone, opened_at) values ($1, $2, $3)
      on conflict (channel_id, phone) do update set opened_at = excluded.opened_at
        where excluded.opened_at > customer_windows.opened_at
      returning phone`,
    [channelId, phone, openedAt],
  );
}

/** It was closed at that time. One that the customer has opened since then stays open. */
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
