import { useQueryClient } from '@tanstack/react-query';
import { type RefObject, useEffect } from 'react';
import { REPLY_FIELD } from '../answer/fields.ts';
import { suggestionsOf } from '../answer/Suggestions.tsx';
import type { Notification } from '../api/types.ts';
import { useKeys } from '../keyboard/keys.ts';
import { go } from '../shell/route.ts';
import { isWide } from '../shell/useWide.ts';
import { pendingAmong } from './list.ts';
import { removeSoon } from './remove.ts';
import { resolveSoon } from './resolve.ts';
import { cursor, selection, toggleSelected } from './view.ts';

const ANSWER_FORM = '[data-answer]';

interface ListKeys {
  shown: readonly Notification[];
  openId: number | undefined;
  searchRef: RefObject<HTMLInputElement | null>;
}

/** Where a row stood that is not there any more: the next one has moved into its place. */
let lastPlace = 0;

export function useListKeys({ shown, openId, searchRef }: ListKeys): void {
  const client = useQueryClient();
  // However it was opened, by a link, the palette or the way back.
  useEffect(() => {
    if (openId !== undefined) cursor.set(openId);
  }, [openId]);
  const at = shown.findIndex(({ id }) => id === (cursor.get() ?? openId));
  if (at >= 0) lastPlace = at;

  const move = (step: number) => {
    const from = shown.findIndex(({ id }) => id === (cursor.get() ?? openId));
    const none = cursor.get() === undefined && openId === undefined;
    const to = from >= 0 ? from + step : none ? 0 : step > 0 ? lastPlace : lastPlace - 1;
    const item = shown[Math.max(0, Math.min(to, shown.length - 1))];
    if (!item) return;
    cursor.set(item.id);
    if (isWide() || openId !== undefined)
      go({ page: 'inbox', id: item.id }, openId === undefined ? 'push' : 'replace');
  };
  const current = () => {
    const id = openId ?? cursor.get();
    return shown.find((item) => item.id === id);
  };
  /** Those that are selected, else the current one. */
  const meant = (): readonly number[] => {
    const chosen = [...selection.get()];
    const item = current();
    return chosen.length > 0 ? chosen : item ? [item.id] : [];
  };
  const reply = () => document.querySelector<HTMLElement>(REPLY_FIELD)?.focus();
  /** Into the form but not yet into its field, where the keys of suggestions would be text. */
  const enter = async (id: number) => {
    const form = document.querySelector<HTMLElement>(ANSWER_FORM);
    if (!form) return;
    form.focus({ preventScroll: true });
    const found = await client.ensureQueryData(suggestionsOf(id)).catch(() => []);
    if (found.length === 0 && document.activeElement === form) reply();
  };

  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter() {
      const id = openId ?? cursor.get() ?? shown[0]?.id;
      if (id === undefined) return;
      if (openId === id) return void enter(id);
      cursor.set(id);
      go({ page: 'inbox', id });
    },
    r: reply,
    e() {
      const pending = pendingAmong(shown, new Set(meant()));
      if (pending.length === 0) return;
      selection.set(new Set());
      resolveSoon(client, pending);
    },
    '#'() {
      const gone = meant();
      removeSoon(client, gone);
      if (openId === undefined || !gone.includes(openId)) return;
      const after = shown.slice(lastPlace).find(({ id }) => !gone.includes(id));
      cursor.set(after?.id);
      go({ page: 'inbox', id: isWide() ? after?.id : undefined }, 'replace');
    },
    x() {
      const item = current();
      if (item) toggleSelected(item.id);
    },
    '/': () => searchRef.current?.focus(),
    Escape() {
      const active = document.activeElement;
      if (active instanceof HTMLElement && active.matches('input, textarea')) active.blur();
      else if (selection.get().size > 0) selection.set(new Set());
      else if (openId !== undefined) go({ page: 'inbox', id: undefined });
    },
  });
}
