import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { User } from '../../../src/contract/auth.ts';
import { useDevice } from '../alerts/useDevice.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useAlerts } from '../inbox/alerts/useAlerts.ts';
import { InboxPage } from '../inbox/InboxPage.tsx';
import { CommandPalette } from '../palette/CommandPalette.tsx';
import { signOut } from '../session/session.ts';
import { toggleTestPhone } from '../settings/preferences.ts';
import { pauseShortcuts, useShortcuts } from '../shortcuts/useShortcuts.ts';
import { useOffersTestPhone } from '../testPhone/messages.ts';
import { confirmation } from './confirmation.ts';
import { hasDrafts } from './draftStorage.ts';
import { startLiveUpdates } from './liveUpdates.ts';
import { Navigation, pagesFor } from './Navigation.tsx';
import { PageLoading } from './PageLoading.tsx';
import { navigate, type Route, useRoute } from './route.ts';
import { useStore } from './store.ts';
import { showToast, undoLast } from './toasts.tsx';
import { UnknownPage } from './UnknownPage.tsx';

// Loaded on demand, so that the inbox opens faster.
const KnowledgePage = lazy(async () => ({
  default: (await import('../knowledge/KnowledgePage.tsx')).KnowledgePage,
}));
const OverviewPage = lazy(async () => ({
  default: (await import('../overview/OverviewPage.tsx')).OverviewPage,
}));
const TestPhonePage = lazy(async () => ({
  default: (await import('../testPhone/TestPhonePage.tsx')).TestPhonePage,
}));
const ShortcutHelp = lazy(async () => ({
  default: (await import('../shortcuts/ShortcutHelp.tsx')).ShortcutHelp,
}));
const SettingsPage = lazy(async () => ({
  default: (await import('../settings/SettingsPage.tsx')).SettingsPage,
}));
const ConfirmationDialog = lazy(async () => ({
  default: (await import('./ConfirmationDialog.tsx')).ConfirmationDialog,
}));
const SignOutDialog = lazy(async () => ({
  default: (await import('../session/SignOutDialog.tsx')).SignOutDialog,
}));

type Dialog = 'palette' | 'help' | 'signOut';

export function Shell({ user }: { user: User }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const route = useRoute();
  const counts = useAlerts(t('appName'));
  const withTestPhone = useOffersTestPhone();
  const { dialog, open, close } = useDialog();
  const asked = useStore(confirmation) !== undefined;
  const leave = async () => {
    if (dialog !== 'signOut' && hasDrafts()) return open('signOut');
    await signOut().catch(() => showToast('errorNetwork', { tone: 'error' }));
  };

  useEffect(() => startLiveUpdates(client), [client]);
  useDevice(user);
  useShortcuts({
    'mod+k': () => open('palette'),
    '?': () => open('help'),
    z: undoLast,
    ...(withTestPhone && { t: toggleTestPhone }),
    ...Object.fromEntries(
      pagesFor(withTestPhone).map(({ key, route: to }) => [`g ${key}`, () => navigate(to)]),
    ),
  });
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {t('skipToContent')}
      </a>
      <Navigation counts={counts} withTestPhone={withTestPhone} onPalette={() => open('palette')} />
      <main id="content" className="content" tabIndex={-1}>
        <Suspense fallback={<PageLoading />}>
          {route.page === 'settings' ? (
            <SettingsPage
              section={route.section}
              user={user}
              onHelp={() => open('help')}
              onPalette={() => open('palette')}
              onSignOut={leave}
            />
          ) : (
            <Page route={route} />
          )}
        </Suspense>
        <div id="tips" />
      </main>
      <Suspense fallback={null}>
        {dialog === 'palette' && (
          <CommandPalette
            onClose={close}
            onHelp={() => open('help')}
            onSettings={() => {
              close();
              navigate({ page: 'settings' });
            }}
            onSignOut={() => void leave()}
          />
        )}
        {dialog === 'help' && <ShortcutHelp opened withTestPhone={withTestPhone} onClose={close} />}
        {asked && <ConfirmationDialog />}
        {dialog === 'signOut' && <SignOutDialog onSignOut={leave} onClose={close} />}
      </Suspense>
    </div>
  );
}

/** The open dialog. When it closes, the focus returns to where it was. */
function useDialog() {
  const [dialog, setDialog] = useState<Dialog>();
  const opener = useRef<Element>(null);
  useEffect(() => () => pauseShortcuts(false), []);
  useEffect(() => {
    if (
      dialog === undefined &&
      document.activeElement === document.body &&
      opener.current instanceof HTMLElement
    )
      opener.current.focus({ preventScroll: true });
  }, [dialog]);
  return {
    dialog,
    open(next: Dialog) {
      if (dialog === undefined) opener.current = document.activeElement;
      pauseShortcuts(true);
      // At once: the next key belongs to the dialog.
      flushSync(() => setDialog(next));
    },
    close() {
      pauseShortcuts(false);
      setDialog(undefined);
    },
  };
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case 'inbox':
      return <InboxPage id={route.id} />;
    case 'knowledge':
      return <KnowledgePage id={route.id} />;
    case 'overview':
      return <OverviewPage />;
    case 'testPhone':
      return <TestPhonePage id={route.id} />;
    default:
      return <UnknownPage signedIn />;
  }
}
