import { useEffect } from 'react';
import type { ConversationList } from '../../../src/contract/conversations.ts';
import { calls } from '../api/calls.ts';
import { ask } from '../api/client.ts';
import { createStore, useStore } from '../shell/store.ts';

export type Conversation = ConversationList[number];

const AT_ONCE_MAX = 200;
/** Rows that come into view together are asked for together. */
const GATHER_MS = 20;

const known = createStore<ReadonlyMap<number, Conversation>>(new Map());
const wanted = new Set<number>();
const asked = new Set<number>();
let running = false;

function want(ids: Iterable<number>): void {
  for (const id of ids) if (!asked.has(id)) wanted.add(id);
  if (running || wanted.size === 0) return;
  running = true;
  setTimeout(() => void fetchWanted(), GATHER_MS);
}

async function fetchWanted(): Promise<void> {
  try {
    while (wanted.size > 0) {
      const ids = [...wanted].slice(0, AT_ONCE_MAX);
      for (const id of ids) {
        wanted.delete(id);
        asked.add(id);
      }
      const found = await ask<Conversation[]>(calls.conversations(ids));
      keepConversations(found);
    }
  } catch {
    // Names are missing until the next event asks again; numbers stand in for them.
    asked.clear();
  } finally {
    running = false;
  }
}

export function keepConversations(found: readonly Conversation[]): void {
  const next = new Map(known.get());
  for (const conversation of found) {
    next.set(conversation.id, conversation);
    asked.add(conversation.id);
  }
  known.set(next);
}

/** A customer who wrote again has a longer window. */
export function refreshConversations(ids: Iterable<number>): void {
  for (const id of ids) asked.delete(id);
  want(ids);
}

export function forgetConversations(): void {
  known.set(new Map());
  asked.clear();
  wanted.clear();
}

/** All that are known; those of `ids` are asked for. */
export function useConversations(ids: readonly number[]): ReadonlyMap<number, Conversation> {
  useEffect(() => want(ids), [ids]);
  return useStore(known);
}
