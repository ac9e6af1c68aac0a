import { useEffect } from 'react';
import type { ConversationList } from '../../../src/contract/conversations.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { createStore, useStore } from '../shell/store.ts';

export type Conversation = ConversationList[number];

const PER_REQUEST_MAX = 200;
/** Rows that become visible together share one request. */
const BATCH_MS = 20;

const loaded = createStore<ReadonlyMap<number, Conversation>>(new Map());
const pendingIds = new Set<number>();
const requestedIds = new Set<number>();
let running = false;

function load(ids: Iterable<number>): void {
  for (const id of ids) if (!requestedIds.has(id)) pendingIds.add(id);
  if (running || pendingIds.size === 0) return;
  running = true;
  setTimeout(() => void fetchPending(), BATCH_MS);
}

async function fetchPending(): Promise<void> {
  try {
    while (pendingIds.size > 0) {
      const ids = [...pendingIds].slice(0, PER_REQUEST_MAX);
      for (const id of ids) {
        pendingIds.delete(id);
        requestedIds.add(id);
      }
      const found = await request<Conversation[]>(calls.conversations(ids));
      storeConversations(found);
    }
  } catch {
    // The rows show ids instead of names until the next event triggers another request.
    requestedIds.clear();
  } finally {
    running = false;
  }
}

export function storeConversations(found: readonly Conversation[]): void {
  const next = new Map(loaded.get());
  for (const conversation of found) {
    next.set(conversation.id, conversation);
    requestedIds.add(conversation.id);
  }
  loaded.set(next);
}

/** Needed when a customer writes again, because that extends the reply window. */
export function refreshConversations(ids: Iterable<number>): void {
  for (const id of ids) requestedIds.delete(id);
  load(ids);
}

export function resetConversations(): void {
  loaded.set(new Map());
  requestedIds.clear();
  pendingIds.clear();
}

/** Returns all loaded conversations and loads those of `ids`. */
export function useConversations(ids: readonly number[]): ReadonlyMap<number, Conversation> {
  useEffect(() => load(ids), [ids]);
  return useStore(loaded);
}
