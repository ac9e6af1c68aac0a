import { Button } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '../../../../src/contract/plain.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { useFocusWhen } from '../../shell/focus.ts';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { Section } from './Section.tsx';
import type { Changes } from './useChanges.ts';

export function PasswordForm({ changes }: { changes: Changes }) {
  const { t } = useTranslation();
  const [newPassword, setNewPassword] = useState('');
  const failure = changes.failureAt('password');
  const field = useFocusWhen<HTMLInputElement>(failure);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    changes.change('password', async ({ password }) => {
      await request(calls.changePassword(password, newPassword));
      setNewPassword('');
      await changes.finish('password');
    });
  };
  return (
    <Section name="password" title={t('password')} changes={changes}>
      <form className="security" onSubmit={submit}>
        <PasswordField
          label={t('newPassword')}
          description={t('newPasswordHint', { n: PASSWORD_LENGTH_MIN })}
          ref={field}
          name="new-password"
          autoComplete="new-password"
          required
          minLength={PASSWORD_LENGTH_MIN}
          maxLength={PASSWORD_LENGTH_MAX}
          error={failure?.text}
          value={newPassword}
          onValue={setNewPassword}
        />
        <Button type="submit" variant="default" loading={changes.busy === 'password'}>
          {t('changePassword')}
        </Button>
      </form>
    </Section>
  );
}
