import { Button, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { InviteView } from '../../../../src/contract/people.ts';
import { PASSWORD_LENGTH_MIN } from '../../../../src/contract/plain.ts';
import { ApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { linkCalls } from '../../settings/calls.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { navigate } from '../../shell/route.ts';
import { signIn } from '../session.ts';
import { LinkLoading, LinkPage, LinkUnknown } from './LinkPage.tsx';
import { requestWithoutSession } from './requestWithoutSession.ts';
import { takeToken } from './token.ts';

/** Somebody was invited: they choose a password and are signed in. */
export function Invite() {
  const translation = useTranslation();
  const [token] = useState(takeToken);
  const look = useQuery({
    queryKey: ['invite', token],
    queryFn: () => requestWithoutSession<Static<typeof InviteView>>(linkCalls.look(token)),
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (token === '' || (look.error instanceof ApiError && look.error.code === 'LINK_NOT_FOUND'))
    return <LinkUnknown />;
  if (look.error) {
    return (
      <LinkPage title={translation.t('linkUnknown')}>
        <ErrorNotice text={errorMessage(translation, look.error)} />
      </LinkPage>
    );
  }
  return look.data ? <Accept token={token} invite={look.data} /> : <LinkLoading />;
}

function Accept({ token, invite }: { token: string; invite: Static<typeof InviteView> }) {
  const translation = useTranslation();
  const { t } = translation;
  const [name, setName] = useState(invite.name ?? '');
  const [email, setEmail] = useState(invite.email ?? '');
  const [password, setPassword] = useState('');
  const accept = useMutation({
    async mutationFn() {
      await requestWithoutSession(linkCalls.accept({ token, email, name, password }));
      await signIn({ email, password });
      navigate({ page: 'inbox' }, 'replace');
    },
  });
  const { error } = accept;
  const isPasswordWrong = error instanceof ApiError && error.field === 'password';
  return (
    <LinkPage title={t('inviteWelcome', { shop: invite.shop })} hint={t('inviteWelcomeHint')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          accept.mutate();
        }}
      >
        <TextInput
          label={t('inviteYourName')}
          autoComplete="name"
          required
          withAsterisk={false}
          maxLength={200}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label={t('email')}
          type="email"
          autoComplete="username"
          required
          dir="ltr"
          withAsterisk={false}
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
        <PasswordField
          label={t('newPassword')}
          description={t('newPasswordHint', { n: PASSWORD_LENGTH_MIN })}
          autoComplete="new-password"
          required
          value={password}
          error={isPasswordWrong ? t('errorNewPassword', { n: PASSWORD_LENGTH_MIN }) : undefined}
          onValue={setPassword}
        />
        <ErrorNotice text={error && !isPasswordWrong ? errorMessage(translation, error) : undefined} />
        <Button type="submit" fullWidth loading={accept.isPending}>
          {t('inviteAccept')}
        </Button>
      </form>
    </LinkPage>
  );
}
