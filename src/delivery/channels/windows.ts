import type { MerchantId } from '../../contract/ids.ts';
import { phoneOrText } from '../phone.ts';
import type { Form } from './channel.ts';
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

export interface Sending {
  /** In which form a message may be sent now. Absent: only when the customer has written again. */
  form: Form | undefined;
  /** When the customer last wrote, if the channel knows it. */
  lastWroteAt: string | undefined;
}

/** How a message to this customer would be sent now. The number is E.164. */
export type SendingTo = (merchantId: MerchantId, phone: string) => Promise<Sending>;

export function createSendingTo({ channels }: { channels: Channels }): SendingTo {
  return async (merchantId, phone) => {
    const channel = await channels.of(merchantId);
    const plan = await channel.plan({ recipient: phone, mode: 'reply' });
    if ('go' in plan) return { form: plan.go, lastWroteAt: undefined };
    const [wrote] = (await channel.lastWrote?.(merchantId, [phone])) ?? [];
    return { form: undefined, lastWroteAt: wrote?.at };
  };
}
