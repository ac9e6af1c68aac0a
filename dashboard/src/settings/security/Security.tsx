import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { FactorList, TotpSetup } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { useFocusWhen } from '../../shell/focus.ts';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { AuthenticatorApp } from './AuthenticatorApp.tsx';
import { AuthenticatorSetup } from './AuthenticatorSetup.tsx';
import { Passkeys } from './Passkeys.tsx';
import { PasswordForm } from './PasswordForm.tsx';
import { RecoveryCodeList } from './RecoveryCodeList.tsx';
import { RecoveryCodes } from './RecoveryCodes.tsx';
import { useChanges } from './useChanges.ts';

export type SecurityStep = 'none' | 'saving' | 'shown';

/**
 * The password and second factors of the signed-in user. Every change needs the password again.
 * `onStep` tells what must not be lost: a change that is being saved, or the QR code or recovery codes shown.
 */
export function Security({ onStep }: { onStep: (step: SecurityStep) => void }) {
  const translation = useTranslation();
  const { t } = translation;
  const { data: factors, error } = useQuery({
    queryKey: ['factors'],
    queryFn: ({ signal }) => request<FactorList>(calls.factors(), { signal }),
  });
  const changes = useChanges();
  const [setup, setSetup] = useState<TotpSetup>();

  const { password } = changes;
  const passwordField = useFocusWhen<HTMLInputElement>(password.failure);

  const isShown = setup !== undefined || changes.codes.length > 0;
  const step = isShown ? 'shown' : changes.busy === undefined ? 'none' : 'saving';
  useEffect(() => {
    onStep(step);
    return () => onStep('none');
  }, [step, onStep]);

  if (changes.codes.length > 0) return <RecoveryCodeList codes={changes.codes} onDone={changes.codesSaved} />;
  if (setup) {
    return <AuthenticatorSetup setup={setup} changes={changes} onClose={() => setSetup(undefined)} />;
  }
  if (!factors) return error && <ErrorNotice text={errorMessage(translation, error)} />;
  return (
    <div className="security">
      <p className="muted">{t('securityHint')}</p>
      <PasswordField
        ref={passwordField}
        label={t('securityPassword')}
        description={t('securityPasswordHint')}
        name="password"
        autoComplete="current-password"
        error={password.failure?.text}
        value={password.value}
        onValue={password.set}
      />
      <PasswordForm changes={changes} />
      <AuthenticatorApp isOn={factors.totp} changes={changes} onSetup={setSetup} />
      <Passkeys passkeys={factors.passkeys} changes={changes} />
      {(factors.totp || factors.passkeys.length > 0) && (
        <RecoveryCodes left={factors.recovery_codes_left} changes={changes} />
      )}
    </div>
  );
}
