import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { Merchant } from '../../../src/contract/merchant.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';

/** The shop and its settings. */
export const merchantQuery = queryOptions({
  queryKey: ['merchant'],
  queryFn: ({ signal }) => request<Static<typeof Merchant>>(calls.merchant(), { signal }),
});

const UNDO_SECONDS = 5;

/** How long the shop wants to be able to undo what is sent or resolved. */
export async function undoSecondsOf(client: QueryClient): Promise<number> {
  const merchant = await client.ensureQueryData(merchantQuery).catch(() => undefined);
  return merchant?.undo_seconds ?? UNDO_SECONDS;
}
