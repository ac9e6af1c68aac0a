import { useQueryClient } from '@tanstack/react-query';
import { type RefObject, useEffect } from 'react';
import { REPLY_FIELD } from '../answer/fields.ts';
import { suggestionsOf } from '../answer/Suggestions.tsx';
import { navigate } from '../shell/route.ts';
import { isWide } from '../shell/useScreenWidth.ts';
import { useShortcuts } from '../shortcuts/useShortcuts.ts';
import { deleteNotifications } from './delete.ts';
import { idsOfRow, type Rows } from './groups.ts';
import { pendingAmong } from './notifications.ts';
import { resolveNotifications } from './resolve.ts';
import { cursor, select, selection, tickedInGroup, toggleSelected } from './view.ts';

const ANSWER_FORM = '[data-answer]';

interface ShortcutOptions {
  rows: Rows;
  /** The row that is open. */
  openId: number | undefined;
  searchRef: RefObject<HTMLInputElement | null>;
}

/** Index of the last current row. When that row disappears, the next one takes its index. */
let lastIndex = 0;

export function useInboxShortcuts({
  rows: { items: shown, groups },
  openId,
  searchRef,
}: ShortcutOptions): void {
  const client = useQueryClient();
  // The notification may have been opened by a link, the command palette or the back button.
  useEffect(() => {
    if (openId !== undefined) cursor.set(openId);
  }, [openId]);
  const at = shown.findIndex(({ id }) => id === (cursor.get() ?? openId));
  if (at >= 0) lastIndex = at;

  const move = (step: number) => {
    const from = shown.findIndex(({ id }) => id === (cursor.get() ?? openId));
    const noneIsCurrent = cursor.get() === undefined && openId === undefined;
    const to = from >= 0 ? from + step : noneIsCurrent ? 0 : step > 0 ? lastIndex : lastIndex - 1;
    const item = shown[Math.max(0, Math.min(to, shown.length - 1))];
    if (!item) return;
    cursor.set(item.id);
    if (isWide() || openId !== undefined)
      navigate({ page: 'inbox', id: item.id }, openId === undefined ? 'push' : 'replace');
  };
  const current = () => {
    const id = openId ?? cursor.get();
    return shown.find((item) => item.id === id);
  };
  /** The selected notifications, or those of the current row. In an open group, those that are ticked. */
  const targetIds = (): readonly number[] => {
    const selectedIds = [...selection.get()];
    const item = current();
    if (selectedIds.length > 0 || !item) return selectedIds;
    const ticked = item.id === openId ? tickedInGroup.get() : undefined;
    return idsOfRow(groups, item.id).filter((id) => ticked?.has(id) ?? true);
  };
  const focusReply = () => document.querySelector<HTMLElement>(REPLY_FIELD)?.focus();
  /** Focuses the form but not its text field, where the digits for suggestions would be text. */
  const focusForm = async (id: number) => {
    const form = document.querySelector<HTMLElement>(ANSWER_FORM);
    if (!form) return;
    form.focus({ preventScroll: true });
    const found = await client.ensureQueryData(suggestionsOf(id)).catch(() => []);
    if (found.length === 0 && document.activeElement === form) focusReply();
  };

  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter() {
      const id = openId ?? cursor.get() ?? shown[0]?.id;
      if (id === undefined) return;
      if (openId === id) return void focusForm(id);
      cursor.set(id);
      navigate({ page: 'inbox', id });
    },
    r: focusReply,
    e() {
      const listed = shown.flatMap((item) => groups.get(item.id) ?? [item]);
      const pending = pendingAmong(listed, new Set(targetIds()));
      if (pending.length === 0) return;
      void resolveNotifications(client, pending);
    },
    async '#'() {
      const deletedIds = targetIds();
      if (deletedIds.length === 0 || !(await deleteNotifications(client, deletedIds))) return;
      if (openId === undefined || !deletedIds.includes(openId)) return;
      const after = shown.slice(lastIndex).find(({ id }) => !deletedIds.includes(id));
      cursor.set(after?.id);
      navigate({ page: 'inbox', id: isWide() ? after?.id : undefined }, 'replace');
    },
    x() {
      const item = current();
      if (item) toggleSelected(idsOfRow(groups, item.id));
    },
    '/': () => searchRef.current?.focus(),
    Escape() {
      const active = document.activeElement;
      if (active instanceof HTMLElement && active.matches('input, textarea')) active.blur();
      else if (selection.get().size > 0) select([]);
      else if (openId !== undefined) navigate({ page: 'inbox', id: undefined });
    },
  });
}
