import { merchantOf, requireMerchant } from '../../auth/guard.ts';
import { ChannelView } from '../../contract/channel.ts';
import type { Database } from '../../database/database.ts';
import { type App, route } from '../../http/openapi.ts';
import { readQuota } from '../quota.ts';
import { findDescriptor } from './descriptors.ts';
import { visibleSettings } from './fields.ts';
import type { Channels } from './merchantChannels.ts';
import { readChannelState } from './state.ts';

interface ChannelRouteParts {
  database: Database;
  channels: Channels;
  channelDailyLimit: number;
  now: () => Date;
}

export async function channelRoutes(app: App, parts: ChannelRouteParts): Promise<void> {
  const { database, channels, channelDailyLimit, now } = parts;

  requireMerchant(app);

  app.get(
    '/channel',
    route('deliveries', 'Get the channel', {
      operationId: 'getChannel',
      scopes: ['notifications:read'],
      description: 'The channel that messages are sent through, its settings without secrets, and its state.',
      response: { 200: ChannelView },
    }),
    async (request): Promise<ChannelView> => {
      const merchantId = merchantOf(request);
      const { channel, settings, own } = await channels.describe(merchantId);
      const { limit, used } = await readQuota(database, merchantId, channelDailyLimit, now());
      const fields = findDescriptor(channel.type.name)?.fields ?? [];
      const number = fields.find((field) => field.kind === 'text' && field.isNumber);
      return {
        channel: channel.type.name,
        own,
        // Merchants do not see the operator's settings, except the number, which customers see, too.
        settings: own
          ? visibleSettings(
              fields.filter(({ operatorOnly }) => !operatorOnly),
              settings,
            )
          : {},
        number_id: number ? String(settings[number.key]) : null,
        daily_limit: limit,
        used,
        ...(await readChannelState(database, channel.id, now())),
      };
    },
  );
}
