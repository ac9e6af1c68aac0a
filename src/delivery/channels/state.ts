import type { ChannelView } from '../../contract/channel.ts';
import type { MerchantId } from '../../contract/ids.ts';
import type { Queries } from '../../database/database.ts';
import { findStop, UNTIL_RESUMED } from '../worker/stops.ts';
import type { Channels } from './merchantChannels.ts';

export type ChannelState = Pick<ChannelView, 'state' | 'code' | 'since' | 'until'>;

/** Whether messages go through this channel now and, if not, why and until when. */
export async function readChannelState(queries: Queries, channelId: string, at: Date): Promise<ChannelState> {
  const stop = await findStop(queries, channelId, at);
  if (!stop) return { state: 'ok', code: null, since: null, until: null };
  return {
    state: stop.kind === 'refused' ? 'stopped' : 'not_answering',
    code: stop.code,
    since: stop.stopped_at,
    until: stop.until === UNTIL_RESUMED ? null : stop.until,
  };
}

/** Whether a merchant's channel sends its messages at the moment. */
export const createChannelStates =
  ({ database, channels, now }: { database: Queries; channels: Channels; now: () => Date }) =>
  async (merchantId: MerchantId): Promise<ChannelState['state']> =>
    (await readChannelState(database, (await channels.of(merchantId)).id, now())).state;
