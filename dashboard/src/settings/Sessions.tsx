import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Sessions as SessionList } from '../../../src/contract/auth.ts';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { showToast } from '../shell/toasts.tsx';
import { useNow } from '../shell/useNow.ts';

/** Where the user is signed in. The session of this page ends with the dialog's own button. */
export function Sessions() {
  const translation = useTranslation();
  const { t, relative, dateTime } = translation;
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
  const failure = end.error ?? error;
  return (
    <details className="sessions">
      <summary>{t('sessions')}</summary>
      {failure && (
        <p className="notice" role="alert">
          {errorMessage(translation, failure)}
        </p>
      )}
      <ul>
        {data?.map(({ id, address, last_used_at, current }) => {
          const network = address ?? t('sessionUnknownNetwork');
          return (
            <li key={id}>
              <span>
                <bdi>{network}</bdi> {current && <span className="tag">{t('sessionCurrent')}</span>}
                <br />
                <time className="muted" dateTime={last_used_at} title={dateTime(last_used_at)}>
                  {t('sessionLastUsed', { when: relative(last_used_at, now) })}
                </time>
              </span>
              {!current && (
                <Button
                  variant="default"
                  aria-label={t('sessionEnd', { address: network })}
                  loading={end.isPending && end.variables === id}
                  onClick={() => end.mutate(id)}
                >
                  {t('signOut')}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </details>
  );
}
