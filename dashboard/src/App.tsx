import { Button, DirectionProvider, MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect } from 'react';
import { isTemporary } from './api/error.ts';
import { useTranslation } from './i18n/translation.tsx';
import { resetConversations } from './inbox/conversations.ts';
import { resetLists } from './inbox/list/items.ts';
import { cursor, select } from './inbox/view.ts';
import { OfflinePage } from './offline/OfflinePage.tsx';
import { SignIn } from './session/SignIn.tsx';
import { restoreSession, session, signOut } from './session/session.ts';
import { EmptyState } from './shell/EmptyState.tsx';
import { PublicPage } from './shell/PublicPage.tsx';
import { forgetQueries, useRoute } from './shell/route.ts';
import { Shell } from './shell/Shell.tsx';
import { useStore } from './shell/store.ts';
import { Toasts } from './shell/toasts.tsx';
import { UnknownPage } from './shell/UnknownPage.tsx';
import { resetTestPhone } from './testPhone/messages.ts';
import { theme } from './theme.ts';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Events invalidate old data, and a tab that becomes visible again reloads it.
      staleTime: 30_000,
      retry: (failures, error) => failures < 2 && isTemporary(error),
    },
  },
});

/** The next user must not see anything of the previous one. */
function clearUserData(): void {
  client.removeQueries({ predicate: ({ queryKey: [name] }) => name !== 'demo' });
  resetLists();
  resetConversations();
  resetTestPhone();
  select([]);
  cursor.set(undefined);
  forgetQueries();
}

export function App() {
  const { direction } = useTranslation();
  return (
    // The variables and classes are in CSS files: the Content-Security-Policy forbids styles written by scripts.
    <DirectionProvider key={direction} initialDirection={direction} detectDirection={false}>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        withCssVariables={false}
        withGlobalClasses={false}
        deduplicateCssVariables={false}
      >
        <QueryClientProvider client={client}>
          <Gate />
          <Toasts />
        </QueryClientProvider>
      </MantineProvider>
    </DirectionProvider>
  );
}

function Gate() {
  const state = useStore(session);
  useEffect(() => {
    if (state.status === 'signedOut') clearUserData();
  }, [state]);
  useEffect(() => {
    if (state.status !== 'unreachable') return;
    const timer = setInterval(() => void restoreSession(), 3000);
    return () => clearInterval(timer);
  }, [state]);

  const { page } = useRoute();
  // With or without a session.
  if (page === 'invite' || page === 'resetPassword') return <PublicPage page={page} />;
  switch (state.status) {
    case 'loading':
      return null;
    case 'unreachable':
      return <OfflinePage />;
    case 'signedOut':
      if (page === 'unknown') return <UnknownPage />;
      return <SignIn reason={state.reason} />;
    case 'signedIn':
      // Operators have no shop, so there is no inbox.
      if (state.user.role === 'admin') return <NoShop />;
      return <Shell key={state.user.id} user={state.user} />;
  }
}

function NoShop() {
  const { t } = useTranslation();
  return (
    <main>
      <EmptyState isPage icon="inbox" title={t('errorNoMerchant')}>
        <Button variant="default" onClick={() => void signOut()}>
          {t('signOut')}
        </Button>
      </EmptyState>
    </main>
  );
}
