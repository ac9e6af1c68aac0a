import { useSyncExternalStore } from 'react';
import type { Language } from '../i18n/texts.ts';

/** What a person likes, kept on their device. Nothing secret stands here. */
export interface Preferences {
  language?: Language;
  sound: boolean;
  badge: boolean;
  telephone: boolean;
  oldestFirst: boolean;
}

const KEY = 'deskbell.preferences';
const USUAL: Preferences = { sound: true, badge: true, telephone: false, oldestFirst: false };
const listeners = new Set<() => void>();
let current: Preferences | undefined;

export function readPreferences(): Preferences {
  if (current) return current;
  try {
    current = { ...USUAL, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') } as Preferences;
  } catch {
    current = USUAL;
  }
  return current;
}

export function savePreferences(change: Partial<Preferences>): void {
  current = { ...readPreferences(), ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing still works, for this visit.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, readPreferences);
