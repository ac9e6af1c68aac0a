import { useSyncExternalStore } from 'react';
import type { Language } from '../i18n/texts.ts';

/** The settings of this user on this device. They contain no secrets. */
export interface Preferences {
  language?: Language;
  sound: boolean;
  badge: boolean;
  showTestPhone: boolean;
}

const KEY = 'deskbell.preferences';
const DEFAULTS: Preferences = { sound: true, badge: true, showTestPhone: false };
const listeners = new Set<() => void>();
let current: Preferences | undefined;

export function readPreferences(): Preferences {
  if (current) return current;
  try {
    current = { ...DEFAULTS, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') } as Preferences;
  } catch {
    current = DEFAULTS;
  }
  return current;
}

export function savePreferences(change: Partial<Preferences>): void {
  current = { ...readPreferences(), ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Storage is blocked: the settings apply until the page is closed.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, readPreferences);

export const toggleTestPhone = (): void =>
  savePreferences({ showTestPhone: !readPreferences().showTestPhone });
