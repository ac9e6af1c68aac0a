import { Button, Skeleton, Switch, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Static } from 'typebox';
import type { AttemptList, Webhook } from '../../../../src/contract/webhooks.ts';
import { type Call, request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { askFirst } from '../../shell/confirmation.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { settingsCalls } from '../calls.ts';
import { Block } from './Block.tsx';
import { ShownOnce } from './ShownOnce.tsx';

type Endpoint = Static<typeof Webhook>;

/** The shop's own systems that receive events, with what was sent to them. */
export function Webhooks() {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: endpoints, error } = useQuery({
    queryKey: ['webhooks'],
    queryFn: ({ signal }) => request<Endpoint[]>(settingsCalls.webhooks(), { signal }),
    staleTime: 0,
  });
  const [url, setUrl] = useState('');
  const add = useMutation({
    mutationFn: () => request<Endpoint & { secret: string }>(settingsCalls.addWebhook(url.trim())),
    async onSuccess() {
      setUrl('');
      await client.invalidateQueries({ queryKey: ['webhooks'] });
    },
  });
  const failure = error ?? add.error;
  return (
    <Block title={t('webhooks')} hint={t('webhooksHint')}>
      <form
        className="settings"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <TextInput
          label={t('webhookUrl')}
          type="url"
          required
          withAsterisk={false}
          dir="ltr"
          value={url}
          onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        />
        <Button type="submit" loading={add.isPending}>
          {t('webhookAdd')}
        </Button>
      </form>
      {add.data && <ShownOnce text={add.data.secret} hint={t('webhookSecret')} />}
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
      {!endpoints && !error && <Skeleton height={80} radius="md" />}
      <ul className="settings-list">
        {endpoints?.map((endpoint) => (
          <EndpointRow key={endpoint.id} endpoint={endpoint} />
        ))}
      </ul>
    </Block>
  );
}

function EndpointRow({ endpoint: { id, url, enabled, stop_reason } }: { endpoint: Endpoint }) {
  const translation = useTranslation();
  const { t, exactTime } = translation;
  const client = useQueryClient();
  const [showsLog, setShowsLog] = useState(false);
  const change = useMutation({
    mutationFn: (call: Call) => request(call),
    onSettled: () => client.invalidateQueries({ queryKey: ['webhooks'] }),
  });
  const log = useQuery({
    queryKey: ['webhookAttempts', id],
    queryFn: ({ signal }) =>
      request<Static<typeof AttemptList>>(settingsCalls.webhookAttempts(id), { signal }),
    enabled: showsLog,
    staleTime: 0,
  });
  const failure = change.error ?? log.error;
  const remove = async () => {
    const text = (
      <>
        <p dir="ltr">{url}</p>
        <p>{t('webhookRemoveAbout')}</p>
      </>
    );
    if (await askFirst({ title: t('webhookRemoveAsk'), text, action: 'webhookRemove' }))
      change.mutate(settingsCalls.removeWebhook(id));
  };
  return (
    <li>
      <span>
        <span dir="ltr">{url}</span>
        {stop_reason !== null && (
          <>
            <br />
            <span className="muted">{stop_reason}</span>
          </>
        )}
      </span>
      <span className="settings-row">
        <Switch
          label={t('on')}
          aria-label={`${t('on')}: ${url}`}
          checked={enabled}
          onChange={({ currentTarget: { checked } }) =>
            change.mutate(settingsCalls.enableWebhook(id, checked))
          }
        />
        <Button
          variant="default"
          aria-label={`${t('webhookTest')}: ${url}`}
          onClick={() =>
            change.mutate(settingsCalls.testWebhook(id), { onSuccess: () => showToast('webhookTested') })
          }
        >
          {t('webhookTest')}
        </Button>
        <Button
          variant="default"
          aria-expanded={showsLog}
          aria-label={`${t('webhookLog')}: ${url}`}
          onClick={() => setShowsLog(!showsLog)}
        >
          {t('webhookLog')}
        </Button>
        <Button variant="default" aria-label={`${t('webhookRemove')}: ${url}`} onClick={() => void remove()}>
          {t('webhookRemove')}
        </Button>
      </span>
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
      {showsLog && log.data && (
        <ul className="webhook-log">
          {log.data.attempts.length === 0 && <li className="muted">{t('webhookLogEmpty')}</li>}
          {log.data.attempts.map((attempt) => (
            <li key={attempt.id}>
              <span dir="ltr">{attempt.type}</span> · {attempt.state}
              {attempt.last_code !== null && ` · ${attempt.last_code}`} ·{' '}
              {attempt.history[0] && exactTime(attempt.history[0].at)}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
