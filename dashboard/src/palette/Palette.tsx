import { Modal, TextInput, useMantineColorScheme } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useState } from 'react';
import { calls } from '../api/calls.ts';
import type { Notification } from '../api/types.ts';
import { useWording } from '../i18n/language.tsx';
import { LANGUAGES, type Language } from '../i18n/texts.ts';
import { useConversations } from '../inbox/conversations.ts';
import { textOf, useNotifications } from '../inbox/list.ts';
import { removeSoon } from '../inbox/remove.ts';
import { resolveSoon } from '../inbox/resolve.ts';
import { view } from '../inbox/view.ts';
import { readPreferences, savePreferences } from '../preferences/preferences.ts';
import { signOut } from '../session/session.ts';
import { copyCurl } from '../shell/CurlButton.tsx';
import { Icon, type IconName } from '../shell/Icon.tsx';
import { PAGES } from '../shell/Navigation.tsx';
import { go, useRoute } from '../shell/route.ts';

interface Command {
  icon: IconName;
  text: string;
  run: () => void;
  /** Comes after all others: nobody runs it by a hasty Enter. */
  last?: true;
}

const NO_IDS: readonly number[] = [];
const OPENABLE_MAX = 8;
const NONE: readonly Notification[] = [];

const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

export function Palette(props: { onClose: () => void; onHelp: () => void; onPreferences: () => void }) {
  const { t, direction } = useWording();
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const words = plain(search).split(/\s+/).filter(Boolean);
  const fits = ({ text }: Command) => words.every((word) => plain(text).includes(word));
  const fitting = [...useCommands(props), ...useOpenable(words)].filter(fits);
  const found = [...fitting.filter(({ last }) => !last), ...fitting.filter(({ last }) => last)];
  const chosen = Math.min(at, found.length - 1);

  const run = (command: Command | undefined) => {
    if (!command) return;
    props.onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = (chosen + step + found.length) % Math.max(1, found.length);
      setAt(next);
      document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: 'nearest' });
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      run(found[chosen]);
    }
  };
  return (
    <Modal
      opened
      onClose={props.onClose}
      withCloseButton={false}
      padding={0}
      lockScroll={false}
      size={560}
      yOffset="12vh"
      title={t('palette')}
      classNames={{ header: 'visually-hidden' }}
      dir={direction}
    >
      <TextInput
        data-autofocus
        className="palette-search"
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={found.length > 0 ? `${listId}-${chosen}` : undefined}
        aria-label={t('paletteHint')}
        placeholder={t('paletteHint')}
        value={search}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setSearch(event.currentTarget.value);
          setAt(0);
        }}
        leftSection={<Icon name="command" size={18} />}
      />
      <div id={listId} className="palette" role="listbox" aria-label={t('palette')}>
        {found.map((command, index) => (
          <div
            key={`${command.icon}-${command.text}`}
            id={`${listId}-${index}`}
            className="palette-item"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseMove={() => setAt(index)}
            onClick={() => run(command)}
            onKeyDown={onKeyDown}
          >
            <Icon name={command.icon} size={18} />
            <span dir="auto">{command.text}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-empty">{t('paletteEmpty')}</p>}
    </Modal>
  );
}

function useCommands({
  onHelp,
  onPreferences,
}: {
  onHelp: () => void;
  onPreferences: () => void;
}): Command[] {
  const { t, setLanguage } = useWording();
  const client = useQueryClient();
  const route = useRoute();
  const { data: items = NONE } = useNotifications();
  const { setColorScheme } = useMantineColorScheme();
  const open = route.page === 'inbox' ? items.find(({ id }) => id === route.id) : undefined;
  const commands: Command[] = [];
  if (open?.status === 'requested') {
    commands.push({
      icon: 'pencil',
      text: t('keyReply'),
      run: () => setTimeout(() => document.querySelector<HTMLElement>('[data-reply]')?.focus()),
    });
    commands.push({ icon: 'check', text: t('resolve'), run: () => resolveSoon(client, [open.id]) });
  }
  if (open) {
    commands.push({ icon: 'trash', text: t('delete'), run: () => removeSoon(client, [open.id]), last: true });
    commands.push({
      icon: 'terminal',
      text: t('copyCurl'),
      run: () => copyCurl(calls.notification(open.id)),
    });
  }
  for (const { page, icon, route: to } of PAGES) {
    commands.push({ icon, text: `${t('paletteGo')}: ${t(page)}`, run: () => go(to) });
  }
  for (const state of ['requested', 'answered', 'all'] as const) {
    const name = { requested: t('pending'), answered: t('answered'), all: t('all') }[state];
    commands.push({
      icon: 'inbox',
      text: `${t('inbox')}: ${name}`,
      run() {
        view.set({ ...view.get(), state });
        go({ page: 'inbox', id: undefined });
      },
    });
  }
  commands.push(
    {
      icon: 'telephone',
      text: t('keyTelephone'),
      run: () => savePreferences({ telephone: !readPreferences().telephone }),
    },
    { icon: 'sliders', text: t('preferences'), run: onPreferences },
    { icon: 'keyboard', text: t('keyboard'), run: onHelp },
  );
  for (const scheme of ['light', 'dark', 'auto'] as const) {
    const name = scheme === 'auto' ? t('likeSystem') : t(scheme);
    commands.push({ icon: 'sliders', text: `${t('colours')}: ${name}`, run: () => setColorScheme(scheme) });
  }
  for (const [language, { name }] of Object.entries(LANGUAGES)) {
    commands.push({
      icon: 'sliders',
      text: `${t('language')}: ${name}`,
      run: () => setLanguage(language as Language),
    });
  }
  commands.push({ icon: 'leave', text: t('signOut'), run: () => void signOut().catch(() => {}) });
  return commands;
}

/** Notifications by customer or text, once something is typed. */
function useOpenable(words: readonly string[]): Command[] {
  const { t } = useWording();
  const { data: items = NONE } = useNotifications();
  const customers = useConversations(NO_IDS);
  if (words.length === 0) return [];
  const found: Command[] = [];
  for (const item of items) {
    const name = customers.get(item.conversation_id)?.customer_name ?? '';
    const text = `${t('paletteOpen')}: ${name} — ${textOf(item)}`;
    if (!words.every((word) => plain(text).includes(word))) continue;
    found.push({
      icon: item.notification_type === 'user_support_request' ? 'support' : 'question',
      text,
      run: () => go({ page: 'inbox', id: item.id }),
    });
    if (found.length === OPENABLE_MAX) break;
  }
  return found;
}
