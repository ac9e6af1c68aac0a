import { Button, NativeSelect, Skeleton, Textarea, TextInput } from '@mantine/core';
import { useMemo } from 'react';
import type { Period } from '../../../../src/contract/merchant.ts';
import { ApiError } from '../../api/error.ts';
import { numberFormat } from '../../i18n/formatters.ts';
import { LANGUAGES } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { showToast } from '../../shell/toasts.tsx';
import { type MerchantSettings, useChangeMerchant, useIsOwner, useMerchant } from '../merchant.ts';
import { namedCountries } from '../parts/countries.ts';
import { HoursRow, PeriodFields } from '../parts/HoursRow.tsx';
import { OpeningHours } from '../parts/OpeningHours.tsx';
import { OwnersOnly } from '../parts/OwnersOnly.tsx';
import { useShopEdits } from '../parts/shopEdits.ts';

const WAITING_MESSAGE_LENGTH_MAX = 500;
/** The server takes every number of seconds up to a minute. */
const UNDO_SECONDS = [3, 5, 10, 20, 30, 60];
/** The browser knows them all. */
const TIME_ZONES = Intl.supportedValuesOf('timeZone');

/** What the shop is called, where it is, and when it is open. */
export function Shop() {
  const translation = useTranslation();
  const { data, error } = useMerchant();
  if (data) return <ShopForm saved={data} />;
  return error ? (
    <ErrorNotice text={errorMessage(translation, error)} />
  ) : (
    <Skeleton height={320} radius="md" />
  );
}

const QUIET_HOURS: Period = { from: '22:00', to: '07:00' };
/** The field of an error about the hours of one day. */
const DAY_FIELD = /^opening_hours\.(\w+)$/;

function ShopForm({ saved }: { saved: MerchantSettings }) {
  const translation = useTranslation();
  const { t, language } = translation;
  const isOwner = useIsOwner();
  const change = useChangeMerchant();
  const { edits, isChanged, isReturn, set, discard, forget } = useShopEdits(saved);
  const shop = { ...saved, ...edits };
  const countries = useMemo(() => namedCountries(language), [language]);
  const inSeconds = numberFormat(language, { style: 'unit', unit: 'second', unitDisplay: 'long' });
  const refused = change.error instanceof ApiError ? change.error.field : undefined;
  const refusedDay = DAY_FIELD.exec(refused ?? '')?.[1];
  const isAtHours = refused === 'quiet_hours' || refusedDay !== undefined;
  const quiet = shop.quiet_hours;
  const isQuietWrong = refused === 'quiet_hours' && quiet !== null && quiet.from === quiet.to;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <form
      className="settings"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isChanged) return void showToast('settingsSaved');
        const message = edits.waiting_message;
        const trimmed = message === undefined ? {} : { waiting_message: message?.trim() || null };
        change
          .mutateAsync({ ...edits, ...trimmed })
          // Also after the user has left the page.
          .then(() => {
            showToast('settingsSaved');
            forget(edits);
          })
          // It is shown below.
          .catch(() => {});
      }}
    >
      {!isOwner && <OwnersOnly />}
      {isReturn && (
        <div className="notice" role="status">
          <p>{t('shopNotSaved')}</p>
          <Button variant="default" onClick={discard}>
            {t('shopDiscard')}
          </Button>
        </div>
      )}
      <fieldset className="settings" disabled={!isOwner}>
        <TextInput
          label={t('shopName')}
          required
          withAsterisk={false}
          maxLength={200}
          dir="auto"
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
        <OpeningHours
          value={shop.opening_hours}
          refusedDay={refusedDay}
          onChange={(opening_hours) => set({ opening_hours })}
        />
        <HoursRow name={t('quietHours')} problem={isQuietWrong ? t('quietHoursSame') : undefined}>
          <div className="hours-period">
            <PeriodFields
              of={t('quietHours')}
              period={quiet}
              isFirst
              isWrong={isQuietWrong}
              onChange={(end, time) =>
                set({ quiet_hours: time ? { ...QUIET_HOURS, ...quiet, [end]: time } : null })
              }
            />
          </div>
        </HoursRow>
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
          dir="auto"
          onChange={({ currentTarget }) => set({ waiting_message: currentTarget.value || null })}
        />
        <ErrorNotice
          text={change.error && !isAtHours ? errorMessage(translation, change.error) : undefined}
        />
        {isOwner && (
          <Button type="submit" loading={change.isPending}>
            {t('save')}
          </Button>
        )}
      </fieldset>
    </form>
  );
}
