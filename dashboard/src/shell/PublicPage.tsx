import { lazy, Suspense } from 'react';
import { PageLoading } from './PageLoading.tsx';

const PAGES = {
  invite: lazy(async () => ({ default: (await import('../session/links/Invite.tsx')).Invite })),
  resetPassword: lazy(async () => ({
    default: (await import('../session/links/ResetPassword.tsx')).ResetPassword,
  })),
};

/** Pages that a link with a one-time token opens. The token is after the `#`, so that no server logs it. */
export function PublicPage({ page }: { page: keyof typeof PAGES }) {
  const Page = PAGES[page];
  return (
    <Suspense fallback={<PageLoading />}>
      <Page />
    </Suspense>
  );
}
