import { Button, DirectionProvider, MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect } from 'react';
import { isPassing } from './api/problem.ts';
import { useWording } from './i18n/language.tsx';
import { forgetConversations } from './inbox/conversations.ts';
import { forgetList } from './inbox/list.ts';
import { cursor, selection } from './inbox/view.ts';
import { SignIn } from './session/SignIn.tsx';
import { resume, session, signOut } from './session/session.ts';
import { EmptyState } from './shell/EmptyState.tsx';
import { dropAllKept } from './shell/kept.ts';
import { Shell } from './shell/Shell.tsx';
import { useStore } from './shell/store.ts';
import { Toasts } from './shell/toasts.tsx';
import { forgetTelephone } from './telephone/messages.ts';
import { theme } from './theme.ts';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Events say when something is old; a tab that comes back asks again.
      staleTime: 30_000,
      retry: (failures, error) => failures < 2 && isPassing(error),
    },
  },
});

/** Nothing of one person is left for the next. */
function forgetEverything(): void {
  client.removeQueries({ predicate: ({ queryKey: [name] }) => name !== 'demo' });
  forgetList();
  forgetConversations();
  forgetTelephone();
  selection.set(new Set());
  cursor.set(undefined);
}

export function App() {
  const { direction } = useWording();
  return (
    // The variables and classes stand in files: the page's policy allows no styles written by scripts.
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
  const { t } = useWording();
  const state = useStore(session);
  useEffect(() => {
    if (state.is !== 'out') return;
    forgetEverything();
    if (state.because === 'asked') dropAllKept();
  }, [state]);
  useEffect(() => {
    if (state.is !== 'unreachable') return;
    const again = setInterval(() => void resume(), 3000);
    return () => clearInterval(again);
  }, [state]);

  switch (state.is) {
    case 'starting':
      return null;
    case 'unreachable':
      return <EmptyState icon="bell" title={t('startFailed')} hint={t('startFailedHint')} />;
    case 'out':
      return <SignIn because={state.because} />;
    case 'in':
      // An operator has no shop, so there is nothing to show.
      if (state.user.role === 'admin') return <NoShop />;
      return <Shell key={state.user.id} user={state.user} />;
  }
}

function NoShop() {
  const { t } = useWording();
  return (
    <main>
      <EmptyState icon="inbox" title={t('errorNoMerchant')}>
        <Button variant="default" onClick={() => void signOut()}>
          {t('signOut')}
        </Button>
      </EmptyState>
    </main>
  );
}
