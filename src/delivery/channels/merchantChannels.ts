import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { type Vault, VaultError } from '../../secrets.ts';
import type { Channel, ChannelName } from './channel.ts';
import type { WebhookSettings, WhatsAppSettings } from './fields.ts';
import { createSimulator } from './simulator/channel.ts';
import { createWebhook } from './webhook/channel.ts';
import { createWhatsApp } from './whatsapp/channel.ts';

/** Which channel a merchant has: its own, or that of the environment. */
export interface Channels {
  of(merchantId: MerchantId): Promise<Channel>;
  /** Whether a channel reports by a status what became of a message. */
  reportsStatus(channelId: string): boolean;
  /** For merchants without a limit of their own. */
  readonly defaultDailyLimit: number;
  /** Every WhatsApp number there is, for what its webhook brings. */
  whatsappNumbers(): Promise<WhatsAppSettings[]>;
}

export interface ChannelSettings {
  simulator: Record<string, never>;
  webhook: WebhookSettings;
  whatsapp: WhatsAppSettings;
}

interface ChannelParts {
  database: Database;
  now: () => Date;
}

/** A new channel is one entry here. */
const CHANNELS: {
  [name in ChannelName]: (settings: ChannelSettings[name], parts: ChannelParts) => Channel;
} = {
  simulator: (_settings, parts) => createSimulator(parts),
  webhook: (settings, parts) => createWebhook(settings, parts),
  whatsapp: (settings, parts) => createWhatsApp(settings, parts),
};

export interface ChannelDefaults {
  channel: {
    name: ChannelName;
    webhook: WebhookSettings | undefined;
    whatsapp: WhatsAppSettings | undefined;
  };
  channelDailyLimit: number;
}

/** A change by the command line reaches running workers within this time. */
const KEPT_MS = 5000;

interface Row {
  channel: ChannelName | null;
  sealed_settings: string | null;
}

export const channelPurpose = (merchantId: number) => `channel of merchant ${merchantId}`;

export function createChannels(parts: ChannelParts & { vault: Vault }, defaults: ChannelDefaults): Channels {
  const { database, vault, now } = parts;
  const kept = new Map<MerchantId, { at: number; channel: Channel }>();
  const shared = open(defaults.channel.name, defaults.channel[defaults.channel.name as 'webhook']);

  function open(name: ChannelName, settings: unknown): Channel {
    return CHANNELS[name](settings as never, parts);
  }

  async function load(merchantId: MerchantId) {
    const known = kept.get(merchantId);
    if (known && Math.abs(now().getTime() - known.at) < KEPT_MS) return known;
    const row = await database.one<Row>(
      'select channel, sealed_settings from channel_settings where merchant_id = $1',
      [merchantId],
    );
    const channel =
      row?.channel == null ? shared : open(row.channel, unseal(vault, merchantId, row.sealed_settings));
    const entry = { at: now().getTime(), channel };
    kept.set(merchantId, entry);
    return entry;
  }

  return {
    of: async (merchantId) => (await load(merchantId)).channel,
    reportsStatus: (channelId) => channelId.startsWith('whatsapp:'),
    defaultDailyLimit: defaults.channelDailyLimit,
    async whatsappNumbers() {
      const rows = await database.all<{ merchant_id: number; sealed_settings: string }>(
        `select merchant_id, sealed_settings from channel_settings where channel = 'whatsapp'`,
      );
      const own = rows.flatMap((row) => {
        try {
          return [unseal(vault, row.merchant_id, row.sealed_settings) as unknown as WhatsAppSettings];
        } catch (error) {
          // Sealed with another key: that merchant's own trouble, and `doctor` names it.
          if (error instanceof VaultError) return [];
          throw error;
        }
      });
      return defaults.channel.name === 'whatsapp' && defaults.channel.whatsapp
        ? [defaults.channel.whatsapp, ...own]
        : own;
    },
  };
}

function unseal(vault: Vault, merchantId: number, sealed: string | null): Record<string, unknown> {
  return sealed === null
    ? {}
    : (JSON.parse(vault.open(sealed, channelPurpose(merchantId))) as Record<string, unknown>);
}
