import { ActionIcon, Button, Switch, Tooltip } from '@mantine/core';
import type { OpeningHours as Hours, Period, Weekday } from '../../../../src/contract/merchant.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { Block } from './Block.tsx';
import { HoursRow, PeriodFields } from './HoursRow.tsx';

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

/** The name of a day in the language of the page, as at the start of a line. The fifth of January 2026 was a Monday. */
function nameOf(language: string, index: number): string {
  const format = new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' });
  const name = format.format(Date.UTC(2026, 0, 5 + index));
  return name.charAt(0).toLocaleUpperCase(language) + name.slice(1);
}

export function OpeningHours({
  value,
  refusedDay,
  onChange,
}: {
  value: Hours | null;
  /** The day that the server has refused. */
  refusedDay: string | undefined;
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
          const periods = hours[day];
          const problem = day === refusedDay ? problemOf(periods) : undefined;
          const adding = periods.length < PERIODS_MAX && (
            <Button
              variant="subtle"
              className="hours-add"
              aria-label={`${name}: ${t('hoursAdd')}`}
              onClick={() => set(day, [...periods, nextPeriod(periods)])}
            >
              {t('hoursAdd')}
            </Button>
          );
          return (
            <HoursRow key={day} name={name} problem={problem && t(problem, { day: name })}>
              {periods.length === 0 && (
                <div className="hours-period hours-closed">
                  <span className="muted">{t('closed')}</span>
                  {adding}
                </div>
              )}
              {periods.map((period, at) => (
                <div key={at} className="hours-period">
                  <PeriodFields
                    of={name}
                    period={period}
                    isFirst={at === 0}
                    isWrong={problem !== undefined}
                    onChange={(end, time) =>
                      set(day, periods.with(at, { ...period, [end]: time || period[end] }))
                    }
                  />
                  <Tooltip label={t('hoursRemove')}>
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      size={44}
                      aria-label={`${name}: ${t('hoursRemove')}${periods.length > 1 ? ` ${at + 1}` : ''}`}
                      onClick={() => set(day, periods.toSpliced(at, 1))}
                    >
                      <Icon name="close" size={18} />
                    </ActionIcon>
                  </Tooltip>
                  {at === periods.length - 1 && adding}
                </div>
              ))}
            </HoursRow>
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

/** As the server sees it. Times of day in this form compare like texts. */
const problemOf = (periods: readonly Period[]): TextKey | undefined => {
  if (periods.some(({ from, to }) => from >= to)) return 'hoursBackwards';
  const overlap = periods.some(({ from }, at) => at > 0 && from < periods[at - 1]!.to);
  return overlap ? 'hoursOverlap' : undefined;
};
