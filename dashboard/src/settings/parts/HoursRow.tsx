import { TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Period } from '../../../../src/contract/merchant.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';

/** A name, its hours, and what is wrong with them. */
export const HoursRow = ({
  name,
  problem,
  children,
}: {
  name: string;
  problem: string | undefined;
  children: ReactNode;
}) => (
  <fieldset className="hours-row" aria-label={name}>
    <strong className="hours-name">{name}</strong>
    <div className="hours-periods">
      {children}
      <ErrorNotice text={problem} />
    </div>
  </fieldset>
);

/** Two times. The names above the first ones are enough to see which is which. */
export function PeriodFields({
  of,
  period,
  isFirst,
  isWrong,
  onChange,
}: {
  /** Whose hours they are. */
  of: string;
  period: Period | null;
  isFirst: boolean;
  isWrong: boolean;
  onChange: (end: keyof Period, time: string) => void;
}) {
  const { t } = useTranslation();
  return (['from', 'to'] as const).map((end) => {
    const name = t(end === 'from' ? 'hoursFrom' : 'hoursTo');
    return (
      <TextInput
        key={end}
        type="time"
        label={isFirst ? name : undefined}
        aria-label={`${of}: ${name}`}
        error={isWrong}
        value={period?.[end] ?? ''}
        onChange={({ currentTarget }) => onChange(end, currentTarget.value)}
      />
    );
  });
}
