import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ChannelView } from '../../../src/contract/channel.ts';
import { request } from '../api/client.ts';
import { settingsCalls } from './calls.ts';

/** The channel to the customers. */
export const channelQuery = queryOptions({
  queryKey: ['channel'],
  queryFn: ({ signal }) => request<ChannelView>(settingsCalls.channel(), { signal }),
});

/** Only WhatsApp takes free text just for a day after the customer wrote. False until it is known, so that nothing flashes. */
export const useHasReplyWindow = (): boolean => useQuery(channelQuery).data?.channel === 'whatsapp';
