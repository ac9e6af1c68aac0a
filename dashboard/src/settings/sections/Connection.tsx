import { Button, NativeSelect, Skeleton, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  ChannelSetup,
  ChannelTest,
  ChannelTypes,
  ChannelView,
} from '../../../../src/contract/channel.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { showToast } from '../../shell/toasts.tsx';
import { settingsCalls } from '../calls.ts';
import { useIsOwner } from '../merchant.ts';
import { Block } from '../parts/Block.tsx';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';
import { Template } from '../parts/Template.tsx';

/** The channel to the customers: whether it works, and how to set it up. */
export function Connection() {
  const translation = useTranslation();
  const { t } = translation;
  const isOwner = useIsOwner();
  const { data: channel, error } = useQuery({
    queryKey: ['channel'],
    queryFn: ({ signal }) => request<ChannelView>(settingsCalls.channel(), { signal }),
    staleTime: 0,
  });
  if (!channel) {
    return error ? (
      <ErrorNotice text={errorMessage(translation, error)} />
    ) : (
      <Skeleton height={240} radius="md" />
    );
  }
  return (
    <>
      <State channel={channel} canTest={isOwner} />
      <Block title={t('dailyLimit')} hint={t('dailyLimitHint')}>
        <p>{t('dailyLimitUsed', { used: channel.used, limit: channel.daily_limit })}</p>
      </Block>
      {isOwner && channel.channel === 'whatsapp' && <Template />}
      {isOwner ? <Setup channel={channel} /> : <OwnersOnly />}
    </>
  );
}

const NAMES: Record<string, 'channelWhatsapp' | 'channelWebhook' | 'channelSimulator'> = {
  whatsapp: 'channelWhatsapp',
  webhook: 'channelWebhook',
  simulator: 'channelSimulator',
};

/** Green or red, with the reason. */
function State({ channel, canTest }: { channel: ChannelView; canTest: boolean }) {
  const translation = useTranslation();
  const { t } = translation;
  const test = useMutation({ mutationFn: () => request<ChannelTest>(settingsCalls.testChannel()) });
  const name = NAMES[channel.channel];
  const problem =
    test.data && !test.data.ok
      ? (test.data.reason ?? test.data.code)
      : channel.state === 'ok'
        ? undefined
        : t(channel.state === 'stopped' ? 'channelStopped' : 'channelSilent', { code: channel.code ?? '' });
  return (
    <Block title={name ? t(name) : channel.channel} hint={t(channel.own ? 'channelOwn' : 'channelShared')}>
      <p className="channel-state" data-state={problem === undefined ? 'ok' : 'bad'} role="status">
        {problem === undefined ? t(test.data ? 'channelTestOk' : 'channelOk') : problem}
      </p>
      <ErrorNotice text={test.error ? errorMessage(translation, test.error) : undefined} />
      {canTest && (
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t('channelTest')}
        </Button>
      )}
    </Block>
  );
}

/** Step by step: choose a channel, fill in what it needs, test, and save. */
function Setup({ channel }: { channel: ChannelView }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: types } = useQuery({
    queryKey: ['channelTypes'],
    queryFn: ({ signal }) => request<ChannelTypes>(settingsCalls.channelTypes(), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [name, setName] = useState(channel.own ? channel.channel : 'whatsapp');
  const [given, setGiven] = useState<Record<string, string>>({});
  const refresh = () =>
    Promise.all(['channel', 'channelTemplate'].map((key) => client.invalidateQueries({ queryKey: [key] })));
  const save = useMutation({
    mutationFn: (body: ChannelSetup) => request(settingsCalls.setChannel(body)),
    async onSuccess() {
      setGiven({});
      showToast('channelSaved');
      await refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => request(settingsCalls.removeChannel()),
    onSuccess: refresh,
  });
  const type = types?.find((one) => one.channel === name);
  if (!types || !type) return <Skeleton height={240} radius="md" />;
  const isStored = channel.own && channel.channel === name;
  const settings = Object.fromEntries(
    Object.entries(given).map(([option, value]) => [option, value.trim() || null]),
  );
  return (
    <Block title={t('channelSetUp')} hint={t('channelSetUpHint')}>
      <form
        className="settings"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({ channel: name, settings });
        }}
      >
        <NativeSelect
          label={t('channelChoose')}
          value={name}
          onChange={({ currentTarget }) => {
            setName(currentTarget.value);
            setGiven({});
            save.reset();
          }}
          data={types.map((one) => ({
            value: one.channel,
            label: NAMES[one.channel] ? t(NAMES[one.channel]!) : one.channel,
          }))}
        />
        {type.fields.map((field) => {
          const shown = isStored ? channel.settings[field.option] : undefined;
          const props = {
            label: sentence(field.about),
            name: field.option,
            required: !field.optional && field.default === null && !isStored,
            withAsterisk: false,
            autoComplete: 'off',
            dir: 'ltr' as const,
            description: field.optional ? t('optional') : undefined,
          };
          const set = (value: string) => setGiven({ ...given, [field.option]: value });
          return field.secret ? (
            <PasswordField
              key={field.option}
              {...props}
              placeholder={isStored ? t('secretKept') : ''}
              value={given[field.option] ?? ''}
              onValue={set}
            />
          ) : (
            <TextInput
              key={field.option}
              {...props}
              value={given[field.option] ?? String(shown ?? field.default ?? '')}
              onChange={({ currentTarget }) => set(currentTarget.value)}
            />
          );
        })}
        {name === 'whatsapp' && (given.template ?? channel.settings.template ?? '') === '' && (
          <p className="muted">{t('templateMissing')}</p>
        )}
        <ErrorNotice text={save.error ? errorMessage(translation, save.error) : undefined} />
        <div className="settings-row">
          <Button type="submit" loading={save.isPending}>
            {t('channelSave')}
          </Button>
          {channel.own && (
            <Button
              variant="default"
              loading={remove.isPending}
              onClick={() => remove.mutate(undefined, { onSuccess: () => showToast('channelRemoved') })}
            >
              {t('channelRemove')}
            </Button>
          )}
        </div>
      </form>
    </Block>
  );
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
