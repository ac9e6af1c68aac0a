import { Button, Switch, TextInput } from '@mantine/core';
import type { OpeningHours as Hours, Period, Weekday } from '../../../../src/contract/merchant.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { Block } from './Block.tsx';

/** In the order of the week. Keep in sync with src/contract/merchant.ts, which the page need not load. */
const DAYS: readonly Weekday[] = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
];
const USUAL: Period = { from: '09:00', to: '18:00' };
const PERIODS_MAX = 5;
const NO_HOURS = Object.fromEntries(DAYS.map((day) => [day, []])) as unknown as Hours;

/** The name of a day in the language of the page. The fifth of January 2026 was a Monday. */
const nameOf = (language: string, index: number) =>
  new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' }).format(
    Date.UTC(2026, 0, 5 + index),
  );

export function OpeningHours({
  value,
  onChange,
}: {
  value: Hours | null;
  onChange: (value: Hours | null) => void;
}) {
  const { t, language } = useTranslation();
  const hours = value ?? NO_HOURS;
  const set = (day: Weekday, periods: Period[]) => onChange({ ...hours, [day]: periods });
  return (
    <Block title={t('openingHours')} hint={t('openingHoursHint')}>
      <Switch
        label={t('openingHoursOn')}
        checked={value !== null}
        onChange={({ currentTarget: { checked } }) =>
          onChange(checked ? { ...NO_HOURS, ...weekdays() } : null)
        }
      />
      {value !== null &&
        DAYS.map((day, index) => {
          const name = nameOf(language, index);
          return (
            <fieldset key={day} className="hours-row" aria-label={name}>
              <strong>{name}</strong>
              {hours[day].length === 0 && <span className="muted">{t('closed')}</span>}
              {hours[day].map((period, at) => (
                <span key={at} className="hours-period">
                  {(['from', 'to'] as const).map((end) => (
                    <TextInput
                      key={end}
                      type="time"
                      aria-label={`${name}: ${t(end === 'from' ? 'hoursFrom' : 'hoursTo')}`}
                      value={period[end]}
                      onChange={({ currentTarget }) =>
                        set(
                          day,
                          hours[day].with(at, { ...period, [end]: currentTarget.value || period[end] }),
                        )
                      }
                    />
                  ))}
                </span>
              ))}
              {hours[day].length < PERIODS_MAX && (
                <Button
                  variant="subtle"
                  aria-label={`${name}: ${t('hoursAdd')}`}
                  onClick={() => set(day, [...hours[day], nextPeriod(hours[day])])}
                >
                  {t('hoursAdd')}
                </Button>
              )}
              {hours[day].length > 0 && (
                <Button
                  variant="subtle"
                  color="gray"
                  aria-label={`${name}: ${t('hoursRemove')}`}
                  onClick={() => set(day, hours[day].slice(0, -1))}
                >
                  {t('hoursRemove')}
                </Button>
              )}
            </fieldset>
          );
        })}
    </Block>
  );
}

const weekdays = () => Object.fromEntries(DAYS.slice(0, 5).map((day) => [day, [USUAL]]));

/** After the last one. */
const nextPeriod = (periods: readonly Period[]): Period => {
  const last = periods.at(-1);
  return last === undefined || last.to >= '22:00' ? USUAL : { from: last.to, to: '23:00' };
};
