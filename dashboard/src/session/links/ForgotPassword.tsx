import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { linkCalls } from '../../settings/calls.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { LinkPage } from './LinkPage.tsx';
import { requestWithoutSession } from './requestWithoutSession.ts';

/** Asks for a link. What it says does not depend on whether the account exists. */
export function ForgotPassword({ email: typed, onBack }: { email: string; onBack: () => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const [email, setEmail] = useState(typed);
  const forgot = useMutation({ mutationFn: () => requestWithoutSession(linkCalls.forgot(email)) });
  const { error } = forgot;
  const hasNoMail = error instanceof ApiError && error.code === 'MAIL_OFF';
  return (
    <LinkPage title={t('forgotTitle')} hint={t('forgotHint')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          forgot.mutate();
        }}
      >
        <TextInput
          label={t('email')}
          type="email"
          autoComplete="username"
          required
          autoFocus
          dir="ltr"
          withAsterisk={false}
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
        {forgot.isSuccess && <p role="status">{t('forgotSent')}</p>}
        <ErrorNotice
          text={hasNoMail ? t('forgotNoMail') : error ? errorMessage(translation, error) : undefined}
        />
        <Button type="submit" fullWidth loading={forgot.isPending}>
          {t('forgotSend')}
        </Button>
        <Button variant="subtle" fullWidth onClick={onBack}>
          {t('back')}
        </Button>
      </form>
    </LinkPage>
  );
}
