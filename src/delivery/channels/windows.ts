import type { MerchantId } from '../../contract/ids.ts';
import { phoneOrText } from '../phone.ts';
import type { Channels } from './merchantChannels.ts';

const WINDOW_MS = 24 * 60 * 60_000;

/** Until when each of these customers may receive free text, in the order of the numbers given. */
export type WindowsOf = (merchantId: MerchantId, phones: readonly string[]) => Promise<(Date | undefined)[]>;

export function createWindows({ channels, now }: { channels: Channels; now: () => Date }): WindowsOf {
  return async (merchantId, phones) => {
    const channel = await channels.of(merchantId);
    const numbers = phones.map((phone) => phoneOrText(phone));
    const wrote = (await channel.lastWrote?.(merchantId, [...new Set(numbers)])) ?? [];
    const until = new Map(wrote.map(({ phone, at }) => [phone, Date.parse(at) + WINDOW_MS]));
    return numbers.map((number) => {
      const end = until.get(number) ?? 0;
      return end > now().getTime() ? new Date(end) : undefined;
    });
  };
}
