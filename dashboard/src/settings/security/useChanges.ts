import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from '../../i18n/translation.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';

type Work = (proof: { password: string }) => Promise<void>;

export type Changes = ReturnType<typeof useChanges>;

/** Changes to the user's security settings, one at a time. Most of them need the password again. */
export function useChanges() {
  const translation = useTranslation();
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const [passwordMissing, setPasswordMissing] = useState(false);
  /** The change that is being saved, and the one that waits for a second click. */
  const [busy, setBusy] = useState<string>();
  const [confirming, setConfirming] = useState<string>();
  const [error, setError] = useState<string>();
  /** New recovery codes that the user must save. */
  const [codes, setCodes] = useState<readonly string[]>([]);
  const passwordField = useRef<HTMLInputElement>(null);

  const run = (name: string, work: () => Promise<void>, describe = errorMessage) => {
    setBusy(name);
    setConfirming(undefined);
    setError(undefined);
    void work()
      .catch((failure: unknown) => setError(describe(translation, failure)))
      .finally(() => setBusy(undefined));
  };

  /** Runs a change with the password as proof. */
  const change = (name: string, work: Work, describe?: typeof errorMessage) => {
    setConfirming(undefined);
    setPasswordMissing(password === '');
    if (password !== '') {
      run(name, () => work({ password }), describe);
      return;
    }
    passwordField.current?.focus({ preventScroll: true });
    passwordField.current?.scrollIntoView({ block: 'center' });
  };

  /** The first click asks, the second one runs the change. */
  const remove = (name: string, work: Work) => {
    if (password !== '' && confirming !== name) setConfirming(name);
    else change(name, work);
  };

  /** Call it when the server has saved a change. */
  const finish = async (newCodes: readonly string[] = []) => {
    setCodes(newCodes);
    setPassword('');
    showToast('securityChanged');
    await Promise.all([
      client.invalidateQueries({ queryKey: ['factors'] }),
      client.invalidateQueries({ queryKey: ['sessions'] }),
    ]);
  };

  return {
    busy,
    confirming,
    error,
    codes,
    run,
    change,
    remove,
    finish,
    clearError: () => setError(undefined),
    clearCodes: () => setCodes([]),
    password: {
      ref: passwordField,
      value: password,
      isMissing: passwordMissing,
      set(value: string) {
        setPassword(value);
        setPasswordMissing(false);
      },
    },
  };
}
