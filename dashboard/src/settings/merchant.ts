import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { Merchant, MerchantChange } from '../../../src/contract/merchant.ts';
import { request } from '../api/client.ts';
import { session } from '../session/session.ts';
import { useStore } from '../shell/store.ts';
import { settingsCalls } from './calls.ts';

export type MerchantSettings = Static<typeof Merchant>;

/** The shop and its settings. */
export const useMerchant = () =>
  useQuery({
    queryKey: ['merchant'],
    queryFn: ({ signal }) => request<MerchantSettings>(settingsCalls.merchant(), { signal }),
  });

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
