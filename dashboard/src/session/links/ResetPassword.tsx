import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { PASSWORD_LENGTH_MIN } from '../../../../src/contract/plain.ts';
import { ApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { linkCalls } from '../../settings/calls.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { PageLink } from '../../shell/PageLink.tsx';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { LinkPage, LinkUnknown } from './LinkPage.tsx';
import { requestWithoutSession } from './requestWithoutSession.ts';
import { takeToken } from './token.ts';

/** Somebody forgot the password and has a link for a new one. */
export function ResetPassword() {
  const translation = useTranslation();
  const { t } = translation;
  const [token] = useState(takeToken);
  const [password, setPassword] = useState('');
  const reset = useMutation({
    mutationFn: () => requestWithoutSession(linkCalls.reset({ token, password })),
  });
  const { error } = reset;
  if (token === '' || (error instanceof ApiError && error.code === 'LINK_NOT_FOUND')) return <LinkUnknown />;
  if (reset.isSuccess) {
    return (
      <LinkPage title={t('resetDone')} hint={t('resetDoneHint')}>
        <PageLink to={{ page: 'inbox' }}>{t('signIn')}</PageLink>
      </LinkPage>
    );
  }
  const isPasswordWrong = error instanceof ApiError && error.field === 'password';
  return (
    <LinkPage title={t('resetTitle')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          reset.mutate();
        }}
      >
        <PasswordField
          label={t('newPassword')}
          description={t('newPasswordHint', { n: PASSWORD_LENGTH_MIN })}
          autoComplete="new-password"
          required
          autoFocus
          value={password}
          error={isPasswordWrong ? t('errorNewPassword', { n: PASSWORD_LENGTH_MIN }) : undefined}
          onValue={setPassword}
        />
        <ErrorNotice text={error && !isPasswordWrong ? errorMessage(translation, error) : undefined} />
        <Button type="submit" fullWidth loading={reset.isPending}>
          {t('changePassword')}
        </Button>
      </form>
    </LinkPage>
  );
}
