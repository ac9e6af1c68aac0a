import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ChannelTest, ChannelView } from '../../../../src/contract/channel.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { settingsCalls } from '../calls.ts';
import { channelQuery } from '../channel.ts';
import { problemText } from '../connection/fields.ts';
import { CHANNEL_NAMES } from '../connection/names.ts';
import { Setup } from '../connection/Setup.tsx';
import { Template } from '../connection/Template.tsx';
import { useIsOwner } from '../merchant.ts';
import { Block } from '../parts/Block.tsx';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';

/** The channel to the customers: whether it works, and how to set it up. */
export function Connection() {
  const translation = useTranslation();
  const { t } = translation;
  const isOwner = useIsOwner();
  /** What was tested before a change says nothing about the channel of now. */
  const [changes, setChanges] = useState(0);
  const { data: channel, error } = useQuery({ ...channelQuery, staleTime: 0 });
  if (!channel) {
    return error ? (
      <ErrorNotice text={errorMessage(translation, error)} />
    ) : (
      <Skeleton height={240} radius="md" />
    );
  }
  return (
    <>
      <State key={changes} channel={channel} canTest={isOwner} />
      <Block title={t('dailyLimit')} hint={t('dailyLimitHint')}>
        <p>{t('dailyLimitUsed', { used: channel.used, limit: channel.daily_limit })}</p>
      </Block>
      {isOwner && !channel.own && channel.channel === 'whatsapp' && <Template hasAccount />}
      {isOwner ? <Setup channel={channel} onChanged={() => setChanges(changes + 1)} /> : <OwnersOnly />}
    </>
  );
}

/** Green or red, with the reason. */
function State({ channel, canTest }: { channel: ChannelView; canTest: boolean }) {
  const translation = useTranslation();
  const { t } = translation;
  const test = useMutation({ mutationFn: () => request<ChannelTest>(settingsCalls.testChannel()) });
  const name = CHANNEL_NAMES[channel.channel];
  const problem =
    test.data && !test.data.ok
      ? problemText(translation, { field: test.data.field, reason: test.data.reason ?? '' })
      : channel.state === 'ok'
        ? undefined
        : t(channel.state === 'stopped' ? 'channelStopped' : 'channelSilent', { code: channel.code ?? '' });
  return (
    <Block title={name ? t(name) : channel.channel} hint={t(channel.own ? 'channelOwn' : 'channelShared')}>
      <p className="channel-state" data-state={problem === undefined ? 'ok' : 'bad'} role="status">
        {problem === undefined ? t(test.data ? 'channelTestOk' : 'channelOk') : problem}
      </p>
      {channel.number_id !== null && <p>{t('channelNumber', { id: channel.number_id })}</p>}
      <ErrorNotice text={test.error ? errorMessage(translation, test.error) : undefined} />
      {canTest && (
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t('channelTest')}
        </Button>
      )}
    </Block>
  );
}
