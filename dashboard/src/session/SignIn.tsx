import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { DemoUser, LoginBody } from '../../../src/contract/auth.ts';
import { ApiError } from '../api/error.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { LanguageSelect } from '../settings/LanguageSelect.tsx';
import { hasDocs } from '../shell/docsLink.ts';
import { hasDrafts } from '../shell/draftStorage.ts';
import { errorMessage } from '../shell/errorMessage.ts';
import { useFocusWhen, useKeptFocus } from '../shell/focus.ts';
import { Icon } from '../shell/Icon.tsx';
import { PasswordField } from '../shell/PasswordField.tsx';
import { passkeyErrorMessage, readPasskey, supportsPasskeys } from './passkeys.ts';
import { type SignedOutReason, signIn, signInWithPasskey } from './session.ts';

// Loaded on demand: few people forget their password.
const ForgotPassword = lazy(async () => ({
  default: (await import('./links/ForgotPassword.tsx')).ForgotPassword,
}));

interface DemoUsers {
  users: readonly DemoUser[];
}

/** The demo accounts. Empty if the demo is off. */
async function fetchDemoUsers(): Promise<DemoUsers> {
  const response = await fetch('/session/demo', { headers: { 'X-Deskbell-Dashboard': '1' } });
  return response.ok ? ((await response.json()) as DemoUsers) : { users: [] };
}

const HINTS = { firstVisit: 'signInHint', user: 'signedOut', expired: 'sessionExpired' } as const;

export function SignIn({ reason }: { reason: SignedOutReason }) {
  const translation = useTranslation();
  const { t } = translation;
  const demo = useQuery({ queryKey: ['demo'], queryFn: fetchDemoUsers, staleTime: Number.POSITIVE_INFINITY });
  const [credentials, setCredentials] = useState<LoginBody>({ email: '', password: '' });
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<string>();
  /** Changes when the user must type again: in the password field, or in the field of the code. */
  const [typeAgain, setTypeAgain] = useState<object>();
  const field = useFocusWhen<HTMLInputElement>(typeAgain);
  const keepFocus = useKeptFocus(busy !== undefined);
  /** Set after the password, if the account needs a second factor. */
  const [needsCode, setNeedsCode] = useState(false);
  const [hasForgotten, setHasForgotten] = useState(false);

  const submit = (given: LoginBody, busyButton: string) => {
    keepFocus();
    setBusy(busyButton);
    setError(undefined);
    signIn(given).catch((failure: unknown) => {
      setBusy(undefined);
      if (failure instanceof ApiError && failure.code === 'MFA_REQUIRED') {
        setCredentials({ ...given, otp: '' });
        setNeedsCode(true);
      } else {
        setError(errorMessage(translation, failure));
        if (failure instanceof ApiError && failure.code === 'INVALID_CREDENTIALS') setTypeAgain({});
      }
    });
  };
  const submitPasskey = () => {
    keepFocus();
    setBusy('passkey');
    setError(undefined);
    signInWithPasskey(readPasskey).catch((failure: unknown) => {
      setBusy(undefined);
      setError(passkeyErrorMessage('errorPasskeySignIn')(translation, failure));
    });
  };
  const startOver = () => {
    setNeedsCode(false);
    setError(undefined);
    setCredentials({ email: credentials.email, password: '' });
    setTypeAgain({});
  };
  if (hasForgotten) {
    return (
      <Suspense fallback={null}>
        <ForgotPassword email={credentials.email} onBack={() => setHasForgotten(false)} />
      </Suspense>
    );
  }
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <span className="sign-in-bell">
          <Icon name="bell" size={34} />
        </span>
        <h1>{t(needsCode ? 'codeTitle' : 'signInTitle')}</h1>
        <p className="muted">{t(needsCode ? 'codeHint' : HINTS[reason])}</p>
        {!needsCode && reason === 'expired' && hasDrafts() && <p className="muted">{t('draftKept')}</p>}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit(credentials, 'form');
          }}
        >
          {needsCode ? (
            <TextInput
              label={t('code')}
              name="otp"
              autoComplete="one-time-code"
              autoCapitalize="none"
              spellCheck={false}
              autoFocus
              ref={field}
              required
              dir="ltr"
              withAsterisk={false}
              value={credentials.otp ?? ''}
              onChange={(event) => setCredentials({ ...credentials, otp: event.currentTarget.value })}
            />
          ) : (
            <>
              <TextInput
                label={t('email')}
                type="email"
                name="email"
                autoComplete="username"
                required
                dir="ltr"
                withAsterisk={false}
                value={credentials.email}
                onChange={(event) => setCredentials({ ...credentials, email: event.currentTarget.value })}
              />
              <PasswordField
                label={t('password')}
                name="password"
                autoComplete="current-password"
                ref={field}
                required
                value={credentials.password}
                onValue={(password) => setCredentials({ ...credentials, password })}
              />
            </>
          )}
          {error !== undefined && (
            <p className="notice" role="alert">
              {error}
            </p>
          )}
          <Button type="submit" fullWidth loading={busy === 'form'}>
            {t('signIn')}
          </Button>
          {supportsPasskeys() && (
            <Button variant="default" fullWidth loading={busy === 'passkey'} onClick={submitPasskey}>
              {t('passkeySignIn')}
            </Button>
          )}
          {!needsCode && (
            <Button variant="subtle" fullWidth onClick={() => setHasForgotten(true)}>
              {t('forgotPassword')}
            </Button>
          )}
          {needsCode && (
            <Button variant="subtle" fullWidth onClick={startOver}>
              {t('back')}
            </Button>
          )}
        </form>
        {!needsCode && demo.data && demo.data.users.length > 0 && (
          <div className="sign-in-demo">
            <h2>{t('demoTitle')}</h2>
            {demo.data.users.map(({ email, password, about, role }) => (
              <Button
                key={email}
                variant="default"
                fullWidth
                loading={busy === email}
                onClick={() => submit({ email, password }, email)}
              >
                {t('demoSignIn', { about: role === 'admin' ? t('demoOperator') : about })}
              </Button>
            ))}
          </div>
        )}
        <div className="sign-in-foot">
          <LanguageSelect />
          {hasDocs && <a href="/docs">{t('apiDocs')}</a>}
        </div>
      </div>
    </main>
  );
}
