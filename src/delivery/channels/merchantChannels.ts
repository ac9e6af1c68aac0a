import { LRUCache } from 'lru-cache';
import type { MerchantId } from '../../contract/ids.ts';
import type { Vault } from '../../secrets.ts';
import type { Channel, ChannelParts, ChannelType } from './channel.ts';
import { channelTypeOf, findDescriptor } from './descriptors.ts';
import type { ChannelSettings } from './fields.ts';
import { listOwnSettings, listSettingsOf, readOwnSettings } from './settings.ts';

/** Which channel a merchant has: its own, or the one from the environment. */
export interface Channels {
  of(merchantId: MerchantId): Promise<Channel>;
  /** The type of any channel by its id, even if no merchant uses it any more. */
  typeOf(channelId: string): ChannelType | undefined;
  /** Like `of`, but read from the database instead of the cache. */
  readAgain(merchantId: MerchantId): Promise<Channel>;
  /** This process uses the merchant's new settings from now on. */
  changed(merchantId: MerchantId): void;
  /** How often `changed` was called: for others who remember what they have read. */
  readonly changes: number;
  /** Like `of`, together with the settings it was opened with. */
  describe(merchantId: MerchantId): Promise<OpenChannel>;
  /** The ids of the channel that the merchant has now, and of those that it had until a few days ago. */
  idsOf(merchantId: MerchantId): Promise<string[]>;
  /** For merchants without their own limit. */
  readonly defaultDailyLimit: number;
  /** The settings of every channel of this type: from the environment, and of all merchants. */
  allSettings(typeName: string): Promise<{ shared: ChannelSettings | undefined; own: ChannelSettings[] }>;
}

interface OpenChannel {
  channel: Channel;
  settings: ChannelSettings;
  /** Whether the merchant has its own. */
  own: boolean;
}

export interface ChannelDefaults {
  channel: { name: string; settings: ChannelSettings };
  channelDailyLimit: number;
}

/** A change by another process is noticed within this time. */
const KEPT_MS = 5000;
const KEPT_MAX = 10_000;

export function createChannels(parts: ChannelParts & { vault: Vault }, defaults: ChannelDefaults): Channels {
  const { database, vault, now } = parts;
  const kept = new LRUCache<MerchantId, OpenChannel & { at: number }>({ max: KEPT_MAX });
  const unsealed = new Map<string, Map<string, ChannelSettings>>();
  let changes = 0;
  const { name, settings } = defaults.channel;
  const shared = { channel: open(name, settings), settings, own: false };

  function open(typeName: string, given: ChannelSettings): Channel {
    const type = findDescriptor(typeName);
    if (!type) throw new Error(`unknown channel ${typeName}`);
    return type.open(given, parts);
  }

  async function describe(merchantId: MerchantId): Promise<OpenChannel> {
    const known = kept.get(merchantId);
    if (known && Math.abs(now().getTime() - known.at) < KEPT_MS) return known;
    const own = (await readOwnSettings(database, vault, merchantId))?.channel;
    const entry = own ? { channel: open(own.name, own.settings), settings: own.settings, own: true } : shared;
    kept.set(merchantId, { ...entry, at: now().getTime() });
    return entry;
  }

  return {
    of: async (merchantId) => (await describe(merchantId)).channel,
    describe,
    readAgain(merchantId) {
      kept.delete(merchantId);
      return this.of(merchantId);
    },
    changed(merchantId) {
      kept.delete(merchantId);
      changes += 1;
    },
    get changes() {
      return changes;
    },
    typeOf: channelTypeOf,
    async idsOf(merchantId) {
      const own = await listSettingsOf(database, vault, merchantId);
      const ids = own.flatMap((one) => findDescriptor(one.name)?.open(one.settings, parts).id ?? []);
      return own.some(({ isFormer }) => !isFormer) ? ids : [shared.channel.id, ...ids];
    },
    defaultDailyLimit: defaults.channelDailyLimit,
    async allSettings(typeName) {
      const own = await listOwnSettings(database, vault, typeName, unsealed.get(typeName) ?? new Map());
      unsealed.set(typeName, own);
      return { shared: typeName === name ? settings : undefined, own: [...own.values()] };
    },
  };
}
