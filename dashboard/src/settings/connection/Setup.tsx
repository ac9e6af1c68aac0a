import { Button, NativeSelect, Skeleton, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ChannelSetup, ChannelTypes, ChannelView } from '../../../../src/contract/channel.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { askFirst } from '../../shell/confirmation.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { showToast } from '../../shell/toasts.tsx';
import { settingsCalls } from '../calls.ts';
import { Block } from '../parts/Block.tsx';
import { ShownOnce } from '../parts/ShownOnce.tsx';
import { Callback } from './Callback.tsx';
import { type FieldToFill, fieldError, proposalsFor, stepsOf } from './fields.ts';
import { CHANNEL_NAMES } from './names.ts';

type Given = Record<string, string>;

/** Step by step: choose a channel, fill in what it needs, test and save, and enter our side at the provider. */
export function Setup({ channel }: { channel: ChannelView }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: types } = useQuery({
    queryKey: ['channelTypes'],
    queryFn: ({ signal }) => request<ChannelTypes>(settingsCalls.channelTypes(), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isStored = (name: string) => channel.own && channel.channel === name;
  const [name, setName] = useState(channel.own ? channel.channel : 'whatsapp');
  const start = (chosen: string): Given => (isStored(chosen) ? {} : proposalsFor(chosen));
  const [given, setGiven] = useState(() => start(name));
  /** The secrets that the user must enter on the other side. They are not shown again. */
  const [saved, setSaved] = useState<Given>({});
  const refresh = () =>
    Promise.all(['channel', 'channelTemplate'].map((key) => client.invalidateQueries({ queryKey: [key] })));
  const save = useMutation({
    mutationFn: (body: ChannelSetup) => request(settingsCalls.setChannel(body)),
    async onSuccess() {
      setSaved({ ...(isStored(name) ? saved : {}), ...given });
      setGiven({});
      showToast('channelSaved');
      await refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => request(settingsCalls.removeChannel()),
    async onSuccess() {
      setSaved({});
      setGiven(proposalsFor(name));
      await refresh();
    },
  });
  const askToRemove = async () => {
    const question = { title: t('channelRemoveAsk'), text: t('channelRemoveAbout') };
    if (await askFirst({ ...question, action: 'channelRemove' }))
      remove.mutate(undefined, { onSuccess: () => showToast('channelRemoved') });
  };
  const type = types?.find((one) => one.channel === name);
  if (!types || !type) return <Skeleton height={240} radius="md" />;
  const settings = Object.fromEntries(
    Object.entries(given).map(([option, value]) => [option, value.trim() || null]),
  );
  const fieldErrors = type.fields.some(({ option }) => fieldError(translation, save.error, option));
  const template = given.template ?? (isStored(name) ? channel.settings.template : undefined);
  const lacksTemplate = template === undefined || template === '';
  return (
    <>
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
            onChange={({ currentTarget: { value } }) => {
              setName(value);
              setGiven(start(value));
              save.reset();
            }}
            data={types.map((one) => ({
              value: one.channel,
              label: CHANNEL_NAMES[one.channel] ? t(CHANNEL_NAMES[one.channel]!) : one.channel,
            }))}
          />
          {stepsOf(translation, type).map(({ title, fields }) => (
            <fieldset key={title} className="channel-step">
              <legend>{title}</legend>
              {fields.map((field) => (
                <Setting
                  key={field.option}
                  field={field}
                  given={given[field.option]}
                  stored={isStored(name) ? (channel.settings[field.option] ?? '') : undefined}
                  error={fieldError(translation, save.error, field.option)}
                  onChange={(value) => setGiven({ ...given, [field.option]: value })}
                />
              ))}
              {lacksTemplate && fields.some(({ option }) => option === 'template') && (
                <p className="muted">{t('templateMissing')}</p>
              )}
            </fieldset>
          ))}
          <ErrorNotice
            text={save.error && !fieldErrors ? errorMessage(translation, save.error) : undefined}
          />
          <div className="settings-row">
            <Button type="submit" loading={save.isPending}>
              {t('channelSave')}
            </Button>
            {channel.own && (
              <Button variant="default" loading={remove.isPending} onClick={() => void askToRemove()}>
                {t('channelRemove')}
              </Button>
            )}
          </div>
        </form>
      </Block>
      {type.callback_url !== null && isStored(name) && (
        <Callback url={type.callback_url} verifyToken={saved['verify-token']} />
      )}
      {isStored(name) && saved.secret !== undefined && (
        <ShownOnce text={saved.secret} hint={t('signingSecretNow')} />
      )}
    </>
  );
}

interface SettingProps {
  field: FieldToFill;
  /** What the user has typed, or what we propose. */
  given: string | undefined;
  /** Undefined if the channel is not set up yet. */
  stored: string | boolean | undefined;
  error: string | undefined;
  onChange: (value: string) => void;
}

function Setting({ field, given, stored, error, onChange }: SettingProps) {
  const { t } = useTranslation();
  const { option, label, hint, optional, default: fallback, secret } = field;
  const isNew = stored === undefined;
  const props = {
    label: optional ? t('settingOptional', { name: label }) : label,
    name: option,
    description: hint,
    error,
    required: !optional && fallback === null && isNew,
    withAsterisk: false,
    autoComplete: 'off',
    spellCheck: false,
    dir: 'ltr' as const,
  };
  return secret && !(field.propose && isNew) ? (
    <PasswordField
      {...props}
      placeholder={isNew ? '' : t('secretKept')}
      value={given ?? ''}
      onValue={onChange}
    />
  ) : (
    <TextInput
      {...props}
      errorProps={{ role: 'alert' }}
      value={given ?? String(stored || fallback || '')}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
