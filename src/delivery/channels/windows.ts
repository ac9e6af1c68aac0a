import type { MerchantId } from '../../contract/ids.ts';
import type { Database, Engine } from '../../database/database.ts';
import { phoneOrText } from '../phone.ts';
import type { Channels } from './merchantChannels.ts';

const WINDOW_MS = 24 * 60 * 60_000;

const ELEMENTS: Readonly<Record<Engine, string>> = {
  sqlite: 'select value from json_each($2)',
  postgres: 'select json_array_elements_text($2::json)',
};

/** Until when each of these customers may be written to freely, in the order of their numbers here. */
export type WindowsOf = (merchantId: MerchantId, phones: readonly string[]) => Promise<(Date | undefined)[]>;

export function createWindows(parts: { database: Database; channels: Channels; now: () => Date }): WindowsOf {
  const { database, channels, now } = parts;
  return async (merchantId, phones) => {
    const channel = await channels.of(merchantId);
    const numbers = phones.map(phoneOrText);
    const list = JSON.stringify([...new Set(numbers)]);
    const opened = await database.all<{ phone: string; opened_at: string }>(
      `select phone, opened_at from customer_windows
        where channel_id = $1 and phone in (${ELEMENTS[database.engine]})`,
      [channel.id, list],
    );
    // The simulator's telephones belong to a merchant each, and need no table of windows.
    const written =
      channel.type.name === 'simulator'
        ? await database.all<{ phone: string; opened_at: string }>(
            `select phone, max(at) as opened_at from simulator_messages
              where merchant_id = $1 and phone in (${ELEMENTS[database.engine]}) and from_customer = 1
              group by phone`,
            [merchantId, list],
          )
        : [];
    const until = new Map<string, number>();
    for (const { phone, opened_at } of [...opened, ...written]) {
      until.set(phone, Math.max(until.get(phone) ?? 0, Date.parse(opened_at) + WINDOW_MS));
    }
    return numbers.map((number) => {
      const end = until.get(number) ?? 0;
      return end > now().getTime() ? new Date(end) : undefined;
    });
  };
}
