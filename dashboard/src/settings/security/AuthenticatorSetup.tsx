import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { RecoveryCodes, TotpSetup } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { CopyButton } from '../../shell/CopyButton.tsx';
import { useFocusWhen } from '../../shell/focus.ts';
import { QrCode } from './QrCode.tsx';
import type { Changes } from './useChanges.ts';

/** The QR code, and the first code that the app shows for it. */
export function AuthenticatorSetup(props: { setup: TotpSetup; changes: Changes; onClose: () => void }) {
  const { t } = useTranslation();
  const { uri, secret } = props.setup;
  const { run, finish, cancel, busy, failureAt } = props.changes;
  const [otp, setOtp] = useState('');
  const failure = failureAt('confirm');
  const field = useFocusWhen<HTMLInputElement>(failure);
  const instruction = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
    // The field may be below a small screen, and the instruction comes first.
    instruction.current?.scrollIntoView({ block: 'center' });
  }, [field]);
  const confirm = (event: FormEvent) => {
    event.preventDefault();
    void run('confirm', async () => {
      const { recovery_codes } = await request<RecoveryCodes>(calls.confirmTotp(otp));
      props.onClose();
      await finish('totp', recovery_codes);
    });
  };
  return (
    <form className="security" onSubmit={confirm}>
      <p ref={instruction}>{t('totpScan')}</p>
      <QrCode text={uri} label={t('totpQr')} />
      <Button component="a" variant="default" className="only-touch" href={uri}>
        {t('totpOpen')}
      </Button>
      <p>
        {t('totpKey')}: <code dir="ltr">{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
      </p>
      <CopyButton text={secret} label={t('totpCopyKey')} />
      <TextInput
        label={t('totpCode')}
        name="otp"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        withAsterisk={false}
        ref={field}
        dir="ltr"
        error={failure?.text}
        errorProps={{ role: 'alert' }}
        value={otp}
        onChange={(event) => setOtp(event.currentTarget.value)}
      />
      <Button type="submit" loading={busy === 'confirm'}>
        {t('confirm')}
      </Button>
      <Button
        variant="default"
        onClick={() => {
          cancel('totp');
          props.onClose();
        }}
      >
        {t('cancel')}
      </Button>
    </form>
  );
}
