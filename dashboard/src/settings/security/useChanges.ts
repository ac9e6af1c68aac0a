import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { useKeptFocus } from '../../shell/focus.ts';
import { showToast } from '../../shell/toasts.tsx';

export type Work = (proof: { password: string }) => Promise<void>;
export type SectionName = 'password' | 'totp' | 'passkeys' | 'codes';

export type Changes = ReturnType<typeof useChanges>;

/** Where a failure of the current password is shown. Others are shown at their change. */
const PASSWORD_FIELD = 'current password';
const isAboutPassword = (error: unknown) =>
  error instanceof ApiError && error.code === 'FORBIDDEN' && error.field === 'password';

/** Changes to the user's security settings, one at a time. Most of them need the password again. */
export function useChanges() {
  const translation = useTranslation();
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  /** The change that is being saved. */
  const [busy, setBusy] = useState<string>();
  const [failure, setFailure] = useState<{ at: string; text: string }>();
  /** The last section that changed. An object, so that the same section can change twice. */
  const [changed, setChanged] = useState<{ section: SectionName }>();
  /** New recovery codes that the user must save. */
  const [codes, setCodes] = useState<readonly string[]>([]);
  const keepFocus = useKeptFocus(busy !== undefined);

  const run = async (name: string, work: () => Promise<void>, describe = errorMessage) => {
    keepFocus();
    setBusy(name);
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      setFailure({ at: isAboutPassword(error) ? PASSWORD_FIELD : name, text: describe(translation, error) });
    }
    setBusy(undefined);
  };

  const checkPassword = (): boolean => {
    if (password === '') setFailure({ at: PASSWORD_FIELD, text: translation.t('securityPasswordMissing') });
    return password !== '';
  };

  /** Runs a change with the password as proof. */
  const change = (name: string, work: Work, describe?: typeof errorMessage) => {
    if (checkPassword()) void run(name, () => work({ password }), describe);
  };

  /** Call it when the server has saved a change. */
  const finish = async (section: SectionName, newCodes: readonly string[] = []) => {
    setChanged({ section });
    setCodes(newCodes);
    setPassword('');
    // A toast would cover the codes and their buttons.
    if (newCodes.length === 0) showToast('securityChanged');
    await Promise.all([
      client.invalidateQueries({ queryKey: ['factors'] }),
      client.invalidateQueries({ queryKey: ['sessions'] }),
    ]);
  };

  const failureAt = (at: string) => (failure?.at === at ? failure : undefined);
  return {
    busy,
    changed,
    codes,
    failureAt,
    run,
    checkPassword,
    change,
    finish,
    cancel(section: SectionName) {
      setFailure(undefined);
      setChanged({ section });
    },
    codesSaved() {
      setCodes([]);
      showToast('securityChanged');
    },
    password: {
      value: password,
      failure: failureAt(PASSWORD_FIELD),
      set(value: string) {
        setPassword(value);
        if (failureAt(PASSWORD_FIELD)) setFailure(undefined);
      },
    },
  };
}
