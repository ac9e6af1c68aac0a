import { Button, NativeSelect, Switch, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { AlertSettings, AlertSettingsChange } from '../../../src/contract/alerts.ts';
import { request } from '../api/client.ts';
import { ApiError } from '../api/error.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { ErrorNotice } from '../shell/ErrorNotice.tsx';
import { errorMessage } from '../shell/errorMessage.ts';
import { showToast } from '../shell/toasts.tsx';
import { alertCalls } from './calls.ts';
import { type DeviceState, deviceState, turnOff, turnOn } from './device.ts';

const SETTINGS_KEY = ['alertSettings'];
const EMAIL_MINUTES = [5, 15, 30, 60, 240];

/** How a person hears of questions while the dashboard is closed. A section of the page Settings > Account. */
export function Alerts({ userId }: { userId: number }) {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const { data: settings, error } = useQuery({
    queryKey: SETTINGS_KEY,
    queryFn: ({ signal }) => request<AlertSettings>(alertCalls.settings(), { signal }),
  });
  const change = useMutation({
    mutationFn: (changes: AlertSettingsChange) => request<AlertSettings>(alertCalls.change(changes)),
    // The switches follow the finger, and go back if it fails.
    onMutate: (changes) =>
      client.setQueryData<AlertSettings>(SETTINGS_KEY, (known) => known && { ...known, ...changes }),
    onSuccess: (changed) => client.setQueryData(SETTINGS_KEY, changed),
    onError: () => client.invalidateQueries({ queryKey: SETTINGS_KEY }),
  });
  return (
    <section className="alerts" aria-labelledby="alerts-title">
      <h2 id="alerts-title">{t('alerts')}</h2>
      <p className="muted">{t('alertsHint')}</p>
      <ErrorNotice text={error ? errorMessage(translation, error) : undefined} />
      <ThisDevice userId={userId} devices={settings?.devices ?? 0} />
      {settings && (
        <>
          <NativeSelect
            label={t('alertsWhat')}
            value={settings.what}
            onChange={({ currentTarget: { value } }) =>
              change.mutate({ what: value as AlertSettings['what'] })
            }
            data={[
              { value: 'all', label: t('alertsWhatAll') },
              { value: 'assigned', label: t('alertsWhatAssigned') },
              { value: 'mentions', label: t('alertsWhatMentions') },
            ]}
          />
          <Switch
            label={t('alertsHideText')}
            description={t('alertsHideTextHint')}
            checked={settings.hide_text}
            onChange={({ currentTarget: { checked } }) => change.mutate({ hide_text: checked })}
          />
          <QuietHours
            value={settings.quiet_hours}
            onChange={(quiet_hours) => change.mutate({ quiet_hours })}
          />
          <EmailAfter
            settings={settings}
            onChange={(minutes) => change.mutate({ email_after_minutes: minutes })}
          />
        </>
      )}
      <ErrorNotice text={change.isError ? errorMessage(translation, change.error) : undefined} />
    </section>
  );
}

const REASONS: { [state in DeviceState]?: 'alertsDenied' | 'alertsInsecure' | 'alertsUnsupported' } = {
  denied: 'alertsDenied',
  insecure: 'alertsInsecure',
  unsupported: 'alertsUnsupported',
};

function ThisDevice({ userId, devices }: { userId: number; devices: number }) {
  const translation = useTranslation();
  const { t, language } = translation;
  const client = useQueryClient();
  const key = ['alertDevice', userId];
  const { data: state = 'off' } = useQuery({
    queryKey: key,
    queryFn: () => deviceState(userId),
    staleTime: 0,
  });
  const toggle = useMutation({
    mutationFn: (on: boolean) => (on ? turnOn(userId, language) : turnOff()),
    onSuccess: (next) => client.setQueryData(key, next),
    onError: () => client.invalidateQueries({ queryKey: key }),
    onSettled: () => client.invalidateQueries({ queryKey: SETTINGS_KEY }),
  });
  const test = useMutation({
    mutationFn: () => request(alertCalls.test()),
    onSuccess: () => showToast('alertsTestSent'),
  });
  const reason = REASONS[state];
  const failure = toggle.error ?? test.error;
  return (
    <>
      <Switch
        label={t('alertsHere')}
        description={reason ? t(reason) : devices > 0 ? t('alertsDevices', { n: devices }) : undefined}
        checked={toggle.isPending ? toggle.variables : state === 'on'}
        disabled={reason !== undefined || toggle.isPending}
        onChange={({ currentTarget: { checked } }) => toggle.mutate(checked)}
      />
      {failure && (
        <ErrorNotice
          text={failure instanceof ApiError ? errorMessage(translation, failure) : t('alertsFailed')}
        />
      )}
      {devices > 0 && (
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          {t('alertsTest')}
        </Button>
      )}
    </>
  );
}

type Quiet = AlertSettings['quiet_hours'];
const DEFAULT_QUIET = { from: '22:00', to: '07:00' };
const timeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

function QuietHours({ value, onChange }: { value: Quiet; onChange: (value: Quiet) => void }) {
  const { t } = useTranslation();
  const own = value !== null && value !== 'shop' ? value : undefined;
  const choose = (choice: string) => {
    if (choice === 'own') onChange({ ...DEFAULT_QUIET, time_zone: timeZone() });
    else onChange(choice === 'shop' ? 'shop' : null);
  };
  const time = (name: 'from' | 'to') => (
    <TextInput
      type="time"
      label={t(name === 'from' ? 'alertsQuietFrom' : 'alertsQuietTo')}
      defaultValue={own![name]}
      onBlur={({ currentTarget: { value: changed } }) => {
        if (/^\d\d:\d\d$/.test(changed) && changed !== own![name])
          onChange({ ...own!, [name]: changed, time_zone: timeZone() });
      }}
    />
  );
  return (
    <div className="alerts-quiet">
      <NativeSelect
        label={t('alertsQuiet')}
        value={own ? 'own' : value === 'shop' ? 'shop' : 'none'}
        onChange={({ currentTarget: { value: choice } }) => choose(choice)}
        data={[
          { value: 'shop', label: t('alertsQuietShop') },
          { value: 'own', label: t('alertsQuietOwn') },
          { value: 'none', label: t('alertsQuietNone') },
        ]}
      />
      {own && (
        <div className="alerts-times">
          {time('from')}
          {time('to')}
        </div>
      )}
    </div>
  );
}

function EmailAfter(props: { settings: AlertSettings; onChange: (minutes: number | null) => void }) {
  const { t } = useTranslation();
  const { email_after_minutes: minutes, mail_available } = props.settings;
  // Somebody may have set another number over the API.
  const choices = new Set([...EMAIL_MINUTES, ...(minutes === null ? [] : [minutes])]);
  return (
    <NativeSelect
      label={t('alertsEmail')}
      description={mail_available ? undefined : t('alertsEmailOff')}
      disabled={!mail_available && minutes === null}
      value={String(minutes ?? '')}
      onChange={({ currentTarget: { value } }) => props.onChange(value === '' ? null : Number(value))}
      data={[
        { value: '', label: t('alertsEmailNever') },
        ...[...choices]
          .toSorted((one, other) => one - other)
          .map((n) => ({ value: String(n), label: t('alertsEmailAfter', { n }) })),
      ]}
    />
  );
}
