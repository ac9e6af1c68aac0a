import type { MerchantId } from '../../../contract/ids.ts';
import type { Database, Queries } from '../../../database/database.ts';
import {
  type Channel,
  type ChannelType,
  DOUBLING_PAUSES_SECONDS,
  isPhone,
  NO_PHONE_NUMBER,
} from '../channel.ts';

const TYPE: ChannelType = {
  name: 'simulator',
  isRemote: false,
  reportsStatus: false,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
};

/** A customer's telephone inside Deskbell. No network; a message is delivered when it is written down. */
export function createSimulator({ database, now }: { database: Database; now: () => Date }): Channel {
  return {
    id: 'simulator',
    type: TYPE,
    plan: async () => ({ go: 'text' }),
    async send({ merchantId, recipient, content, key }) {
      if (!isPhone(recipient)) return NO_PHONE_NUMBER;
      // The key makes a second attempt after a crash harmless.
      await database.run(
        `insert into simulator_messages (merchant_id, phone, from_customer, content, delivery_key, at)
          values ($1, $2, 0, $3, $4, $5) on conflict (delivery_key) do nothing`,
        [merchantId, recipient, content, key, now().toISOString()],
      );
      return { outcome: 'sent', messageId: undefined, state: 'delivered' };
    },
    check: async () => undefined,
  };
}

/** Writes on a customer's telephone without a delivery: what the demo's assistant says by itself. */
export async function sayOnTelephone(
  queries: Queries,
  merchantId: MerchantId,
  { phone, text, at }: { phone: string; text: string; at: Date },
): Promise<void> {
  await queries.run(
    'insert into simulator_messages (merchant_id, phone, from_customer, content, at) values ($1, $2, 0, $3, $4)',
    [merchantId, phone, text, at.toISOString()],
  );
}
