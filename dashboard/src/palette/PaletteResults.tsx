import { useMantineColorScheme } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, type RefObject, useEffect, useState } from 'react';
import type { InboxPage } from '../../../src/contract/inbox.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { NotificationDetail } from '../api/types.ts';
import { LANGUAGES, type Language } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { deleteNotifications } from '../inbox/delete.ts';
import { TAB_NAMES } from '../inbox/list/Tabs.tsx';
import { detailKey } from '../inbox/notifications.ts';
import { resolveNotifications } from '../inbox/resolve.ts';
import { queryOfView, readView, TABS } from '../inbox/view.ts';
import { searchable } from '../searchable.ts';
import { useDeveloperTools } from '../settings/merchant.ts';
import { toggleTestPhone } from '../settings/preferences.ts';
import { copyCurl } from '../shell/CurlButton.tsx';
import { Icon, type IconName } from '../shell/Icon.tsx';
import { pagesFor } from '../shell/Navigation.tsx';
import { navigate, useRoute } from '../shell/route.ts';
import { useDebounced } from '../shell/useDebounced.ts';
import { useOffersTestPhone } from '../testPhone/messages.ts';

interface Command {
  icon: IconName;
  text: string;
  /** If the text is not unique. */
  key?: string;
  run: () => void;
  /** Listed after all others, so that a quick Enter does not run it. */
  last?: true;
}

const FOUND_MAX = 8;

export interface PaletteActions {
  onClose: () => void;
  onHelp: () => void;
  onSettings: () => void;
  onSignOut: () => void;
}

interface PaletteResultsProps extends PaletteActions {
  search: string;
  listId: string;
  /** Handles the keys that are pressed in the search field. */
  keysRef: RefObject<((event: KeyboardEvent) => void) | undefined>;
  onActive: (optionId: string | undefined) => void;
}

export function PaletteResults({ search, listId, keysRef, onActive, ...props }: PaletteResultsProps) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState({ search, index: 0 });
  const words = searchable(search).split(/\s+/).filter(Boolean);
  const matches = ({ text }: Command) => words.every((word) => searchable(text).includes(word));
  const matching = useCommands(props).filter(matches);
  const notifications = useFound(search);
  const found = [
    ...matching.filter(({ last }) => !last),
    ...notifications,
    ...matching.filter(({ last }) => last),
  ];
  // Another search starts at the first result.
  const activeIndex = chosen.search === search ? Math.min(chosen.index, found.length - 1) : 0;
  const choose = (index: number) => setChosen({ search, index });
  const activeId = found.length > 0 ? `${listId}-${activeIndex}` : undefined;
  useEffect(() => onActive(activeId), [onActive, activeId]);

  const run = (command: Command | undefined) => {
    if (!command) return;
    props.onClose();
    command.run();
  };
  keysRef.current = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = (activeIndex + step + found.length) % Math.max(1, found.length);
      choose(next);
      document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: 'nearest' });
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      run(found[activeIndex]);
    }
  };
  return (
    <>
      <div id={listId} className="palette" role="listbox" aria-label={t('palette')}>
        {found.map((command, index) => (
          <div
            key={command.key ?? `${command.icon}-${command.text}`}
            id={`${listId}-${index}`}
            className="palette-item"
            role="option"
            tabIndex={-1}
            aria-selected={index === activeIndex}
            onMouseMove={() => choose(index)}
            onClick={() => run(command)}
            onKeyDown={(event) => keysRef.current?.(event)}
          >
            <Icon name={command.icon} size={18} />
            <span dir="auto">{command.text}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-empty">{t('paletteEmpty')}</p>}
    </>
  );
}

function useCommands({ onHelp, onSettings, onSignOut }: PaletteActions): Command[] {
  const { t, setLanguage } = useTranslation();
  const client = useQueryClient();
  const route = useRoute();
  const developerTools = useDeveloperTools();
  const withTestPhone = useOffersTestPhone();
  // As in the settings: the Content-Security-Policy forbids the style that would stop transitions.
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const openId = route.page === 'inbox' ? route.id : undefined;
  const { data: open } = useQuery({
    queryKey: detailKey(openId ?? 0),
    queryFn: ({ signal }) => request<NotificationDetail>(calls.notification(openId!), { signal }),
    enabled: openId !== undefined,
  });
  const commands: Command[] = [];
  if (open?.status === 'requested') {
    commands.push({
      icon: 'pencil',
      text: t('keyReply'),
      run: () => setTimeout(() => document.querySelector<HTMLElement>('[data-reply]')?.focus()),
    });
    commands.push({
      icon: 'check',
      text: t('resolve'),
      run: () => void resolveNotifications(client, [open.id]),
    });
  }
  if (open) {
    commands.push({
      icon: 'trash',
      text: t('delete'),
      run: () => void deleteNotifications(client, [open.id]),
      last: true,
    });
    if (developerTools)
      commands.push({
        icon: 'terminal',
        text: t('copyCurl'),
        run: () => copyCurl(calls.notification(open.id)),
      });
  }
  for (const { page, icon, route: to } of pagesFor(withTestPhone)) {
    commands.push({ icon, text: `${t('paletteGo')}: ${t(page)}`, run: () => navigate(to) });
  }
  for (const tab of TABS) {
    commands.push({
      icon: 'inbox',
      text: `${t('inbox')}: ${t(TAB_NAMES[tab])}`,
      run: () => navigate({ page: 'inbox', query: queryOfView(readView({ tab })) }),
    });
  }
  if (withTestPhone) commands.push({ icon: 'phone', text: t('keyTestPhone'), run: toggleTestPhone });
  commands.push(
    { icon: 'sliders', text: t('settings'), run: onSettings },
    { icon: 'keyboard', text: t('shortcuts'), run: onHelp },
  );
  for (const scheme of ['light', 'dark', 'auto'] as const) {
    const name = scheme === 'auto' ? t('themeSystem') : t(scheme);
    commands.push({ icon: 'sliders', text: `${t('theme')}: ${name}`, run: () => setColorScheme(scheme) });
  }
  for (const [language, { name }] of Object.entries(LANGUAGES)) {
    commands.push({
      icon: 'sliders',
      text: `${t('language')}: ${name}`,
      run: () => setLanguage(language as Language),
    });
  }
  commands.push({ icon: 'signOut', text: t('signOut'), run: onSignOut });
  return commands;
}

/** What the server finds in all tabs, by customer, question, answer or notes. */
function useFound(search: string): Command[] {
  const { t } = useTranslation();
  const q = useDebounced(search.trim());
  const { data } = useQuery({
    queryKey: ['inbox', 'found', q],
    queryFn: async ({ signal }) =>
      (
        await request<InboxPage>(calls.inbox(readView({ tab: 'all', q }), { limit: FOUND_MAX }), {
          signal,
        })
      ).items,
    enabled: q !== '',
    placeholderData: keepPreviousData,
  });
  if (search.trim() === '') return [];
  return (data ?? []).map((item) => ({
    icon: item.notification_type === 'user_support_request' ? 'support' : 'question',
    text: `${t('paletteOpen')}: ${item.customer.name} — ${item.question}`,
    key: String(item.id),
    run: () => navigate({ page: 'inbox', id: item.id }),
  }));
}
