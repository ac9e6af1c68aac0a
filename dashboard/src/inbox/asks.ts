import { useEffect } from 'react';
import { createByIds } from '../api/byIds.ts';
import { calls } from '../api/calls.ts';
import type { Notification } from '../api/types.ts';

export type Ask = NonNullable<Notification['ask']>;

const withAsks = createByIds<Notification>(calls.asks);
export const resetAsks = withAsks.reset;

/** Returns the notifications with their asks, as far as they are loaded, and loads those of `items` that have changed. */
export function useAsks(items: readonly Notification[]): ReadonlyMap<number, Notification> {
  useEffect(() => {
    const versions = new Map(items.map(({ id, updated_at }) => [id, updated_at]));
    withAsks.load(versions.keys(), (id) => versions.get(id) ?? '');
  }, [items]);
  return withAsks.useLoaded();
}

/** The assistant no longer waits for the answer, but the merchant can still give it. */
export const isExpired = (ask: Ask | null | undefined): boolean => ask?.status === 'expired';
/** Deskbell sends nothing: the assistant passes the answer on. */
export const isRelayed = (ask: Ask | null | undefined): boolean => ask?.deliver === 'assistant';
