import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { RecoveryCodes, TotpSetup } from '../../../../src/contract/factors.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from './ErrorNotice.tsx';
import { QrCode } from './QrCode.tsx';
import type { Changes } from './useChanges.ts';

export function AuthenticatorApp(props: {
  isOn: boolean;
  changes: Changes;
  onSetup: (setup: TotpSetup) => void;
}) {
  const { t } = useTranslation();
  const { change, remove, finish, busy, confirming } = props.changes;
  const turnOn = () =>
    change('totp', async (proof) => props.onSetup(await request<TotpSetup>(calls.startTotp(proof))));
  const turnOff = () =>
    remove('totp', async (proof) => {
      await request(calls.removeTotp(proof));
      await finish();
    });
  return (
    <>
      <h3>{t('authenticatorApp')}</h3>
      <Button variant="default" loading={busy === 'totp'} onClick={props.isOn ? turnOff : turnOn}>
        {props.isOn ? t(confirming === 'totp' ? 'totpTurnOffConfirm' : 'totpTurnOff') : t('totpSetUp')}
      </Button>
    </>
  );
}

/** The QR code, and the first code that the app shows for it. */
export function AuthenticatorSetup(props: { setup: TotpSetup; changes: Changes; onClose: () => void }) {
  const { t } = useTranslation();
  const { uri, secret } = props.setup;
  const { run, finish, busy, error } = props.changes;
  const [otp, setOtp] = useState('');
  const confirm = (event: FormEvent) => {
    event.preventDefault();
    run('confirm', async () => {
      const { recovery_codes } = await request<RecoveryCodes>(calls.confirmTotp(otp));
      props.onClose();
      await finish(recovery_codes);
    });
  };
  return (
    <form className="security" onSubmit={confirm}>
      <p>{t('totpScan')}</p>
      <QrCode text={uri} label={t('totpQr')} />
      <p>
        {t('totpKey')}: <code dir="ltr">{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
      </p>
      <TextInput
        label={t('totpCode')}
        name="otp"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        withAsterisk={false}
        ref={focusAtFirst}
        dir="ltr"
        value={otp}
        onChange={(event) => setOtp(event.currentTarget.value)}
      />
      <ErrorNotice text={error} />
      <Button type="submit" loading={busy === 'confirm'}>
        {t('confirm')}
      </Button>
      <Button variant="default" onClick={props.onClose}>
        {t('cancel')}
      </Button>
    </form>
  );
}

const focusAtFirst = (element: HTMLElement | null) => element?.focus();
