import { Button, NativeSelect, Skeleton, Textarea, TextInput } from '@mantine/core';
import { useMemo, useState } from 'react';
import { numberFormat } from '../../i18n/formatters.ts';
import { LANGUAGES } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { type MerchantSettings, useChangeMerchant, useIsOwner, useMerchant } from '../merchant.ts';
import { namedCountries } from '../parts/countries.ts';
import { OpeningHours } from '../parts/OpeningHours.tsx';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';

const WAITING_MESSAGE_LENGTH_MAX = 500;
/** The server takes every number of seconds up to a minute. */
const UNDO_SECONDS = [3, 5, 10, 20, 30, 60];
/** The browser knows them all. */
const TIME_ZONES = Intl.supportedValuesOf('timeZone');

/** What the shop is called, where it is, and when it is open. */
export function Shop() {
  const translation = useTranslation();
  const { data, error } = useMerchant();
  if (data) return <ShopForm key={JSON.stringify(data)} saved={data} />;
  return error ? (
    <ErrorNotice text={errorMessage(translation, error)} />
  ) : (
    <Skeleton height={320} radius="md" />
  );
}

function ShopForm({ saved }: { saved: MerchantSettings }) {
  const translation = useTranslation();
  const { t, language } = translation;
  const isOwner = useIsOwner();
  const change = useChangeMerchant();
  const [shop, setShop] = useState(saved);
  const set = (part: Partial<MerchantSettings>) => setShop({ ...shop, ...part });
  const countries = useMemo(() => namedCountries(language), [language]);
  const inSeconds = numberFormat(language, { style: 'unit', unit: 'second', unitDisplay: 'long' });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <form
      className="settings"
      onSubmit={(event) => {
        event.preventDefault();
        const { deliver: _, confident: _confident, ...changed } = shop;
        change.mutate(
          { ...changed, waiting_message: shop.waiting_message?.trim() || null },
          { onSuccess: () => showToast('settingsSaved') },
        );
      }}
    >
      {!isOwner && <OwnersOnly />}
      <fieldset className="settings" disabled={!isOwner}>
        <TextInput
          label={t('shopName')}
          required
          withAsterisk={false}
          maxLength={200}
          value={shop.name}
          onChange={({ currentTarget }) => set({ name: currentTarget.value })}
        />
        <NativeSelect
          label={t('shopCountry')}
          description={t('shopCountryHint')}
          value={shop.country ?? ''}
          onChange={({ currentTarget }) => set({ country: currentTarget.value || null })}
          data={[{ value: '', label: t('shopCountryNone') }, ...countries]}
        />
        <NativeSelect
          label={t('shopLanguage')}
          description={t('shopLanguageHint')}
          value={shop.language ?? 'en'}
          onChange={({ currentTarget }) =>
            set({ language: currentTarget.value as MerchantSettings['language'] })
          }
          data={Object.entries(LANGUAGES).map(([value, { name }]) => ({ value, label: name }))}
        />
        <NativeSelect
          label={t('shopTimeZone')}
          value={shop.time_zone ?? 'UTC'}
          onChange={({ currentTarget }) => set({ time_zone: currentTarget.value })}
          data={[...new Set([shop.time_zone ?? 'UTC', zone, 'UTC', ...TIME_ZONES])]}
        />
        <OpeningHours value={shop.opening_hours} onChange={(opening_hours) => set({ opening_hours })} />
        <div className="hours-row">
          <strong className="hours-name">{t('quietHours')}</strong>
          <TextInput
            type="time"
            aria-label={`${t('quietHours')}: ${t('hoursFrom')}`}
            value={shop.quiet_hours?.from ?? ''}
            onChange={({ currentTarget: { value } }) =>
              set({ quiet_hours: value ? { from: value, to: shop.quiet_hours?.to ?? '07:00' } : null })
            }
          />
          <TextInput
            type="time"
            aria-label={`${t('quietHours')}: ${t('hoursTo')}`}
            value={shop.quiet_hours?.to ?? ''}
            onChange={({ currentTarget: { value } }) =>
              set({ quiet_hours: value ? { from: shop.quiet_hours?.from ?? '22:00', to: value } : null })
            }
          />
        </div>
        <p className="muted">{t('quietHoursHint')}</p>
        <NativeSelect
          label={t('undoTime')}
          description={t('undoTimeHint')}
          value={shop.undo_seconds}
          onChange={({ currentTarget }) => set({ undo_seconds: Number(currentTarget.value) })}
          data={[
            { value: '0', label: t('undoOff') },
            ...[...new Set([...UNDO_SECONDS, saved.undo_seconds])]
              .filter((seconds) => seconds > 0)
              .sort((a, b) => a - b)
              .map((seconds) => ({ value: String(seconds), label: inSeconds.format(seconds) })),
          ]}
        />
        <Textarea
          label={t('waitingMessage')}
          description={t('waitingMessageHint')}
          autosize
          minRows={2}
          maxLength={WAITING_MESSAGE_LENGTH_MAX}
          value={shop.waiting_message ?? ''}
          onChange={({ currentTarget }) => set({ waiting_message: currentTarget.value })}
        />
        <ErrorNotice text={change.error ? errorMessage(translation, change.error) : undefined} />
        {isOwner && (
          <Button type="submit" loading={change.isPending}>
            {t('save')}
          </Button>
        )}
      </fieldset>
    </form>
  );
}
