import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { Merchant, MerchantChange } from '../../../src/contract/merchant.ts';
import { request } from '../api/client.ts';
import { session } from '../session/session.ts';
import { useStore } from '../shell/store.ts';
import { settingsCalls } from './calls.ts';

export type MerchantSettings = Static<typeof Merchant>;

const merchantQuery = queryOptions({
  queryKey: ['merchant'],
  queryFn: ({ signal }) => request<MerchantSettings>(settingsCalls.merchant(), { signal }),
});

/** The shop and its settings. */
export const useMerchant = () => useQuery(merchantQuery);

const UNDO_SECONDS = 5;

/** How long the shop wants to be able to undo what is sent or resolved. */
export async function undoSecondsOf(client: QueryClient): Promise<number> {
  const merchant = await client.ensureQueryData(merchantQuery).catch(() => undefined);
  return merchant?.undo_seconds ?? UNDO_SECONDS;
}

export function useChangeMerchant() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: MerchantChange) => request<MerchantSettings>(settingsCalls.changeMerchant(change)),
    onSuccess: (merchant) => client.setQueryData(['merchant'], merchant),
  });
}

/** Whether the signed-in user may manage the shop. */
export function useIsOwner(): boolean {
  const state = useStore(session);
  return state.status === 'signedIn' && state.user.role === 'owner';
}

/** Off until it is known, so that nothing flashes. */
export const useDeveloperTools = (): boolean => useMerchant().data?.developer_tools ?? false;
