import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type RefObject, useEffect, useRef, useState } from 'react';
import type { FactorList, RecoveryCodes, TotpSetup } from '../../../src/contract/factors.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { createPasskey, passkeyErrorMessage, supportsPasskeys } from '../session/passkeys.ts';
import { errorMessage } from '../shell/errorMessage.ts';
import { Icon } from '../shell/Icon.tsx';
import { showToast } from '../shell/toasts.tsx';
import { useNow } from '../shell/useNow.ts';
import { QrCode } from './QrCode.tsx';
import { RecoveryCodeList } from './RecoveryCodeList.tsx';

export type SecurityStep = 'none' | 'saving' | 'shown';

/**
 * The password and second factors of the signed-in user. Every change needs the password again.
 * `onStep` tells what must not be lost: a change that is being saved, or the QR code or recovery codes shown.
 */
export function Security({ onStep }: { onStep: (step: SecurityStep) => void }) {
  const translation = useTranslation();
  const { t, relative } = translation;
  const now = useNow();
  const client = useQueryClient();
  const { data: factors } = useQuery({
    queryKey: ['factors'],
    queryFn: ({ signal }) => request<FactorList>(calls.factors(), { signal }),
  });
  const [password, setPassword] = useState('');
  const [passwordMissing, setPasswordMissing] = useState(false);
  const [newPassword, setNewPassword] = useState('');
  const [setup, setSetup] = useState<TotpSetup>();
  const [otp, setOtp] = useState('');
  const [passkeyName, setPasskeyName] = useState('');
  const [codes, setCodes] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<string>();
  const [confirming, setConfirming] = useState<string>();
  const passwordField = useRef<HTMLInputElement>(null);
  const alertBox = useRef<HTMLParagraphElement>(null);

  const isShown = setup !== undefined || codes.length > 0;
  const step = isShown ? 'shown' : busy === undefined ? 'none' : 'saving';
  useEffect(() => {
    onStep(step);
    return () => onStep('none');
  }, [step, onStep]);
  useEffect(() => {
    if (error !== undefined) show(alertBox);
  }, [error]);

  const run = (name: string, work: () => Promise<void>, describe = errorMessage) => {
    setBusy(name);
    setError(undefined);
    void work()
      .catch((failure: unknown) => setError(describe(translation, failure)))
      .finally(() => setBusy(undefined));
  };
  /** Runs a change with the password as proof. */
  const change: typeof run = (name, work, describe) => {
    setPasswordMissing(password === '');
    if (password !== '') {
      run(name, work, describe);
      return;
    }
    passwordField.current?.focus({ preventScroll: true });
    show(passwordField);
  };
  /** The first click asks, the second one runs the change. */
  const remove: typeof run = (name, work) => {
    if (password !== '' && confirming !== name) {
      setConfirming(name);
      return;
    }
    setConfirming(undefined);
    change(name, work);
  };
  const finish = async ({ recovery_codes = [] }: Partial<RecoveryCodes> = {}) => {
    setCodes(recovery_codes);
    setPassword('');
    showToast('securityChanged');
    await Promise.all([
      client.invalidateQueries({ queryKey: ['factors'] }),
      client.invalidateQueries({ queryKey: ['sessions'] }),
    ]);
  };
  const confirmTotp = (event: FormEvent) => {
    event.preventDefault();
    run('confirm', async () => {
      const confirmed = await request<RecoveryCodes>(calls.confirmTotp(otp));
      setSetup(undefined);
      setOtp('');
      await finish(confirmed);
    });
  };
  const cancelTotp = () => {
    setSetup(undefined);
    setOtp('');
    setError(undefined);
  };
  const changePassword = (event: FormEvent) => {
    event.preventDefault();
    change('password', async () => {
      await request(calls.changePassword(password, newPassword));
      setNewPassword('');
      await finish();
    });
  };
  const addPasskey = (event: FormEvent) => {
    event.preventDefault();
    change(
      'passkey',
      async () => {
        const response = await createPasskey({ password });
        const name = passkeyName.trim() || t('passkeyDefaultName');
        await finish(await request<RecoveryCodes>(calls.addPasskey(name, response)));
        setPasskeyName('');
      },
      passkeyErrorMessage,
    );
  };

  if (codes.length > 0) return <RecoveryCodeList codes={codes} onDone={() => setCodes([])} />;
  if (!factors) return null;
  const alert = error !== undefined && (
    <p ref={alertBox} className="notice" role="alert">
      {error}
    </p>
  );
  if (setup) {
    return (
      <form className="security" onSubmit={confirmTotp}>
        <p>{t('totpScan')}</p>
        <QrCode text={setup.uri} label={t('totpQr')} />
        <p>
          {t('totpKey')}: <code dir="ltr">{setup.secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
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
        {alert}
        <Button type="submit" loading={busy === 'confirm'}>
          {t('confirm')}
        </Button>
        <Button variant="default" onClick={cancelTotp}>
          {t('cancel')}
        </Button>
      </form>
    );
  }
  const hasFactor = factors.totp || factors.passkeys.length > 0;
  return (
    <div className="security">
      <p className="muted">{t('securityHint')}</p>
      <PasswordInput
        ref={passwordField}
        label={t('securityPassword')}
        name="password"
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': t('passwordVisibility') }}
        error={passwordMissing && t('securityPasswordMissing')}
        value={password}
        onChange={(event) => {
          setPassword(event.currentTarget.value);
          setPasswordMissing(false);
        }}
      />
      {alert}
      <form className="security" onSubmit={changePassword}>
        <PasswordInput
          label={t('newPassword')}
          description={t('newPasswordHint')}
          name="new-password"
          autoComplete="new-password"
          visibilityToggleButtonProps={{ 'aria-label': t('passwordVisibility') }}
          required
          withAsterisk={false}
          value={newPassword}
          onChange={(event) => setNewPassword(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={busy === 'password'}>
          {t('changePassword')}
        </Button>
      </form>
      <h3>{t('authenticatorApp')}</h3>
      {factors.totp ? (
        <Button
          variant="default"
          loading={busy === 'totp'}
          onClick={() =>
            remove('totp', async () => {
              await request(calls.removeTotp({ password }));
              await finish();
            })
          }
        >
          {confirming === 'totp' ? t('totpTurnOffConfirm') : t('totpTurnOff')}
        </Button>
      ) : (
        <Button
          variant="default"
          loading={busy === 'totp'}
          onClick={() =>
            change('totp', async () => setSetup(await request<TotpSetup>(calls.startTotp({ password }))))
          }
        >
          {t('totpSetUp')}
        </Button>
      )}
      <h3>{t('passkeys')}</h3>
      {factors.passkeys.map(({ id, name, last_used_at }) => (
        <div key={id} className="security-passkey">
          <span>
            {name}
            <br />
            <span className="muted">
              {last_used_at === null
                ? t('passkeyUnused')
                : t('passkeyLastUsed', { time: relative(last_used_at, now) })}
            </span>
          </span>
          <Button
            variant="default"
            aria-label={
              confirming === `passkey ${id}`
                ? t('passkeyRemoveConfirm', { name })
                : t('passkeyRemove', { name })
            }
            loading={busy === `passkey ${id}`}
            onClick={() =>
              remove(`passkey ${id}`, async () => {
                await request(calls.removePasskey(id, { password }));
                await finish();
              })
            }
          >
            {confirming === `passkey ${id}` ? t('removeConfirm') : <Icon name="trash" />}
          </Button>
        </div>
      ))}
      {supportsPasskeys() ? (
        <form className="security" onSubmit={addPasskey}>
          <TextInput
            label={t('passkeyName')}
            placeholder={t('passkeyDefaultName')}
            maxLength={100}
            value={passkeyName}
            onChange={(event) => setPasskeyName(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={busy === 'passkey'}>
            {t('passkeyAdd')}
          </Button>
        </form>
      ) : (
        <p className="muted">{t('passkeyUnsupported')}</p>
      )}
      {hasFactor && (
        <>
          <h3>{t('recoveryCodes')}</h3>
          <p className="muted">{t('recoveryLeft', { n: factors.recovery_codes_left })}</p>
          <Button
            variant="default"
            loading={busy === 'codes'}
            onClick={() =>
              change('codes', async () =>
                finish(await request<RecoveryCodes>(calls.renewRecoveryCodes({ password }))),
              )
            }
          >
            {t('recoveryNew')}
          </Button>
        </>
      )}
    </div>
  );
}

const show = ({ current }: RefObject<HTMLElement | null>) => current?.scrollIntoView({ block: 'center' });

const focusAtFirst = (element: HTMLElement | null) => element?.focus();
