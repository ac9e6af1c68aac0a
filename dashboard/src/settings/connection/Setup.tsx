import { Button, NativeSelect, Skeleton, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { ChannelSetup, ChannelTypes, ChannelView } from '../../../../src/contract/channel.ts';
import { request } from '../../api/client.ts';
import { ApiError } from '../../api/error.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { askFirst } from '../../shell/confirmation.ts';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { focusInView } from '../../shell/focus.ts';
import { PasswordField } from '../../shell/PasswordField.tsx';
import { showToast } from '../../shell/toasts.tsx';
import { settingsCalls } from '../calls.ts';
import { Block } from '../parts/Block.tsx';
import { ShownOnce } from '../parts/ShownOnce.tsx';
import { Callback } from './Callback.tsx';
import { type FieldToFill, fieldError, makeProposals, stepsOf } from './fields.ts';
import { CHANNEL_NAMES } from './names.ts';
import { Template } from './Template.tsx';

type Given = Record<string, string>;

interface SetupProps {
  channel: ChannelView;
  /** Another channel is in use now. */
  onChanged: () => void;
}

/** Step by step: choose a channel, fill in what it needs, test and save, and enter our side at the provider. */
export function Setup({ channel, onChanged }: SetupProps) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: types, error: typesError } = useQuery({
    queryKey: ['channelTypes'],
    queryFn: ({ signal }) => request<ChannelTypes>(settingsCalls.channelTypes(), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [name, setName] = useState(channel.own ? channel.channel : 'whatsapp');
  const isStored = channel.own && channel.channel === name;
  /** By channel, so that nothing is lost when the user looks at another one. */
  const [typed, setTyped] = useState<Readonly<Record<string, Given>>>({});
  const form = useRef<HTMLFormElement>(null);
  /** The secrets that the user must enter on the other side. They are not shown again. */
  const [saved, setSaved] = useState<Given>({});
  const [proposals] = useState(makeProposals);
  const given: Given = { ...(isStored ? {} : proposals[name]), ...typed[name] };
  const refresh = () =>
    Promise.all(['channel', 'channelTemplate'].map((key) => client.invalidateQueries({ queryKey: [key] })));
  const save = useMutation({
    mutationFn: (body: ChannelSetup) => request(settingsCalls.setChannel(body)),
    // It has secrets.
    gcTime: 0,
    async onSuccess(_, { channel: chosen, settings: sent }) {
      const forOtherSide = Object.keys(proposals[chosen] ?? {}).flatMap((option) =>
        sent[option] ? [[option, sent[option]]] : [],
      );
      setSaved({ ...(isStored ? saved : {}), ...Object.fromEntries(forOtherSide) });
      setTyped({});
      onChanged();
      showToast('channelSaved');
      await refresh();
    },
  });
  // The fields are enabled again by then.
  useEffect(() => {
    const { field } = save.error instanceof ApiError ? save.error : {};
    const option = field?.replace(/^settings\./, '');
    if (option) focusInView(form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(option)}"]`));
  }, [save.error]);
  const remove = useMutation({
    mutationFn: () => request(settingsCalls.removeChannel()),
    async onSuccess() {
      setSaved({});
      save.reset();
      onChanged();
      await refresh();
    },
  });
  const askToRemove = async () => {
    const question = { title: t('channelRemoveAsk'), text: t('channelRemoveAbout') };
    if (await askFirst({ ...question, action: 'channelRemove' }))
      remove.mutate(undefined, { onSuccess: () => showToast('channelRemoved') });
  };
  const type = types?.find((one) => one.channel === name);
  if (!types || !type) {
    return typesError ? (
      <ErrorNotice text={errorMessage(translation, typesError)} />
    ) : (
      <Skeleton height={240} radius="md" />
    );
  }
  const isSecret = (option: string) => type.fields.some((one) => one.option === option && one.secret);
  const settings = Object.fromEntries(
    Object.entries(given)
      // A secret that is stored is not shown, so an empty field keeps it.
      .filter(([option, value]) => !(isStored && isSecret(option) && value.trim() === ''))
      .map(([option, value]) => [option, value.trim() || null]),
  );
  const errorOf = (option: string) => fieldError(translation, { channel: name, option, error: save.error });
  const hasFieldError = type.fields.some(({ option }) => errorOf(option));
  const failure = save.error ?? remove.error;
  const template = given.template ?? (isStored ? channel.settings.template : undefined);
  const lacksTemplate = template === undefined || template === '';
  return (
    <>
      <Block title={t('channelSetUp')} hint={t('channelSetUpHint')}>
        <form
          className="settings"
          ref={form}
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate({ channel: name, settings });
          }}
        >
          <NativeSelect
            label={t('channelChoose')}
            disabled={save.isPending}
            value={name}
            onChange={({ currentTarget: { value } }) => {
              setName(value);
              save.reset();
            }}
            data={types.map((one) => ({
              value: one.channel,
              label: CHANNEL_NAMES[one.channel] ? t(CHANNEL_NAMES[one.channel]!) : one.channel,
            }))}
          />
          {stepsOf(translation, type).map(({ title, fields }) => (
            <fieldset key={title} className="channel-step" disabled={save.isPending}>
              <legend>{title}</legend>
              {fields.map((field) => (
                <Setting
                  key={field.option}
                  field={field}
                  given={given[field.option]}
                  stored={isStored ? (channel.settings[field.option] ?? '') : undefined}
                  error={errorOf(field.option)}
                  onChange={(value) =>
                    setTyped({ ...typed, [name]: { ...typed[name], [field.option]: value } })
                  }
                />
              ))}
              {lacksTemplate && fields.some(({ option }) => option === 'template') && (
                <p className="muted">{t('templateMissing')}</p>
              )}
            </fieldset>
          ))}
          <ErrorNotice
            text={
              hasFieldError ? t('settingsNotSaved') : failure ? errorMessage(translation, failure) : undefined
            }
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
      {name === 'whatsapp' && isStored && (
        <Template hasAccount={Boolean(channel.settings['business-account-id'])} />
      )}
      {type.callback_url !== null && isStored && (
        <Callback url={type.callback_url} verifyToken={saved['verify-token']} />
      )}
      {isStored && saved.secret !== undefined && (
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
    description: field.propose && !isNew ? undefined : hint,
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
