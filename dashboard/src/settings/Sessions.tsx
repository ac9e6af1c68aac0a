import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Sessions as SessionList } from '../../../src/contract/auth.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { ErrorNotice } from '../shell/ErrorNotice.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { useFocusWhen, useKeptFocus } from '../shell/focus.ts';
import { showToast } from '../shell/toasts.tsx';
import { useNow } from '../shell/useNow.ts';
import { settingsCalls } from './calls.ts';

/** Where the user is signed in. The session of this page ends with the button of the settings. */
export function Sessions() {
  const translation = useTranslation();
  const { t, relative, dateTime, exactTime } = translation;
  const now = useNow();
  const { data, error, refetch } = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => request<SessionList>(calls.sessions(), { signal }),
    staleTime: 0,
  });
  const end = useMutation({
    mutationFn: (id: string) => request(calls.endSession(id)).catch(ignoreNotFound),
    onSuccess: () => showToast('sessionEnded'),
    onSettled: () => refetch(),
  });
  const endOthers = useMutation({
    mutationFn: () => request(settingsCalls.endOtherSessions()),
    onSuccess: () => showToast('sessionsEnded'),
    onSettled: () => refetch(),
  });
  const keepFocus = useKeptFocus(end.isPending);
  const heading = useFocusWhen<HTMLElement>(
    (end.isSuccess && end.submittedAt) || (endOthers.isSuccess && endOthers.submittedAt),
  );
  // This device first; the server sorts the others by their last use.
  const sessions = data?.toSorted((one, other) => Number(other.current) - Number(one.current));
  return (
    <details className="sessions">
      <summary ref={heading}>{t('sessions')}</summary>
      <ErrorNotice text={error ? errorMessage(translation, error) : undefined} />
      <ul>
        {sessions?.map(({ id, address, device, created_at, last_used_at, current }) => {
          const network =
            address === null
              ? t('sessionUnknownNetwork')
              : t('sessionNetwork', { address: startOf(address) });
          const signedIn = t('sessionSignedIn', { when: dateTime(created_at) });
          const where = device === null ? network : `${device}, ${network}`;
          const failure = end.variables === id ? end.error : null;
          return (
            <li key={id}>
              <span>
                {device !== null && (
                  <>
                    <strong dir="auto">{device}</strong>{' '}
                  </>
                )}
                {current && <span className="tag">{t('sessionCurrent')}</span>}
                <br />
                <span className="muted">{network}</span>
                <br />
                <time className="muted" dateTime={created_at}>
                  {signedIn}
                </time>
                <br />
                <time className="muted" dateTime={last_used_at} title={dateTime(last_used_at)}>
                  {t('sessionLastUsed', { when: relative(last_used_at, now) })}
                </time>
                <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
              </span>
              {!current && (
                <Button
                  variant="default"
                  // With seconds, so that no two are the same.
                  aria-label={`${t('signOut')}: ${where}, ${t('sessionSignedIn', { when: exactTime(created_at) })}`}
                  loading={end.isPending && end.variables === id}
                  onClick={() => {
                    keepFocus();
                    end.mutate(id);
                  }}
                >
                  {t('signOut')}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      <ErrorNotice text={endOthers.error ? errorMessage(translation, endOthers.error) : undefined} />
      {(sessions?.length ?? 0) > 1 && (
        <Button variant="default" loading={endOthers.isPending} onClick={() => endOthers.mutate()}>
          {t('sessionsEndOthers')}
        </Button>
      )}
    </details>
  );
}

/** What all devices of a network share. The marks keep its order in right-to-left text. */
const startOf = (network: string) => `\u2066${network.replace(/(?<=\.)0\/\d+$|(?<=:):\/\d+$/, '*')}\u2069`;
