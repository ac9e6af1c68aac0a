import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ChannelView } from '../../../src/contract/channel.ts';
import { request } from '../api/client.ts';
import { settingsCalls } from './calls.ts';

/** The channel to the customers. */
export const channelQuery = queryOptions({
  queryKey: ['channel'],
  queryFn: ({ signal }) => request<ChannelView>(settingsCalls.channel(), { signal }),
});

/**
 * Whether the channel takes free text only for a day after the customer wrote. The test phone shows that time, but goes on
 * taking messages. False until it is known, so that nothing flashes.
 */
export function useReplyWindow(): { isShown: boolean; ends: boolean } {
  const { channel } = useQuery(channelQuery).data ?? {};
  const ends = channel === 'whatsapp';
  return { isShown: ends || channel === 'simulator', ends };
}
