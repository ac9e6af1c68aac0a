import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import type { User } from '../../../src/contract/auth.ts';
import { useWording } from '../i18n/language.tsx';
import { InboxPage } from '../inbox/InboxPage.tsx';
import { useNotifications } from '../inbox/list.ts';
import { useAlerts } from '../inbox/useAlerts.ts';
import { useKeys } from '../keyboard/keys.ts';
import { readPreferences, savePreferences } from '../preferences/preferences.ts';
import { useTelephoneMissing } from '../telephone/messages.ts';
import { followEvents } from './live.ts';
import { Navigation, PAGES } from './Navigation.tsx';
import { go, type Route, useRoute } from './route.ts';
import { undoLast } from './toasts.tsx';

// Who opens the inbox does not wait for the rest.
const KnowledgePage = lazy(async () => ({
  default: (await import('../knowledge/KnowledgePage.tsx')).KnowledgePage,
}));
const OverviewPage = lazy(async () => ({
  default: (await import('../overview/OverviewPage.tsx')).OverviewPage,
}));
const TelephonePage = lazy(async () => ({
  default: (await import('../telephone/TelephonePage.tsx')).TelephonePage,
}));
const Palette = lazy(async () => ({ default: (await import('../palette/Palette.tsx')).Palette }));
const Help = lazy(async () => ({ default: (await import('../keyboard/Help.tsx')).Help }));
const PreferencesDialog = lazy(async () => ({
  default: (await import('../preferences/PreferencesDialog.tsx')).PreferencesDialog,
}));

type Dialog = 'palette' | 'help' | 'preferences';

export function Shell({ user }: { user: User }) {
  const { t } = useWording();
  const client = useQueryClient();
  const route = useRoute();
  const { data: items } = useNotifications();
  const pending = useAlerts(items, t('appName'));
  const withTelephone = !useTelephoneMissing();
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);

  useEffect(() => followEvents(client), [client]);
  useKeys({
    'mod+k': () => setDialog('palette'),
    '?': () => setDialog('help'),
    z: undoLast,
    t: () => savePreferences({ telephone: !readPreferences().telephone }),
    ...Object.fromEntries(PAGES.map(({ key, route: to }) => [`g ${key}`, () => go(to)])),
  });
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {t('skipToContent')}
      </a>
      <Navigation
        pending={pending}
        withTelephone={withTelephone}
        onPalette={() => setDialog('palette')}
        onPreferences={() => setDialog('preferences')}
      />
      <main id="content" className="content" tabIndex={-1}>
        <Suspense fallback={null}>
          <Page route={route} />
        </Suspense>
        <div id="tips" />
      </main>
      <Suspense fallback={null}>
        {dialog === 'palette' && (
          <Palette
            onClose={close}
            onHelp={() => setDialog('help')}
            onPreferences={() => setDialog('preferences')}
          />
        )}
        {dialog === 'help' && <Help opened onClose={close} />}
        {dialog === 'preferences' && (
          <PreferencesDialog
            opened
            user={user}
            onClose={close}
            onHelp={() => setDialog('help')}
            onPalette={() => setDialog('palette')}
          />
        )}
      </Suspense>
    </div>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case 'inbox':
      return <InboxPage id={route.id} />;
    case 'knowledge':
      return <KnowledgePage id={route.id} />;
    case 'overview':
      return <OverviewPage />;
    case 'telephone':
      return <TelephonePage id={route.id} />;
  }
}
