import { useElementSize } from '@mantine/hooks';
import { useTranslation } from '../i18n/translation.tsx';

export interface WeekValue {
  /** The first day of the week. */
  from: string;
  value: number | null;
}

const HEIGHT = 160;
const TOP = 24;
const BOTTOM = 26;
/** Used until the real width is measured. */
const WIDTH_DEFAULT = 480;
/** An upper estimate, so that labels are never clipped. */
const LETTER_WIDTH = 7.5;
const LABEL_SPACING = 84;

/** A bar for each week. The last one is marked, because it answers the question. Plain SVG, as in `DailyChart`. */
export function WeeklyChart({
  weeks,
  label,
  format,
}: {
  weeks: readonly WeekValue[];
  label: string;
  format: (value: number) => string;
}) {
  const { t, language, direction } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const chartWidth = width || WIDTH_DEFAULT;
  const highest = Math.max(1e-9, ...weeks.map(({ value }) => value ?? 0));
  const plotHeight = HEIGHT - TOP - BOTTOM;
  const step = chartWidth / Math.max(1, weeks.length);
  const barWidth = Math.min(36, step * 0.62);
  const x = (offset: number) => (direction === 'rtl' ? chartWidth - offset : offset);
  const labelEvery = Math.ceil(weeks.length / Math.max(2, Math.floor(chartWidth / LABEL_SPACING)));
  const short = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const last = weeks.length - 1;
  return (
    <div ref={ref}>
      <svg className="bars bars-weeks" viewBox={`0 0 ${chartWidth} ${HEIGHT}`} role="img" aria-label={label}>
        <line className="bars-line" x1="0" x2={chartWidth} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
        {weeks.map(({ from, value }, index) => {
          const offset = step * (index + 0.5);
          const height = value === null ? 0 : Math.max(2, (plotHeight * value) / highest);
          const y = HEIGHT - BOTTOM - height;
          const name = short.format(new Date(`${from}T00:00:00Z`));
          const half = (name.length * LETTER_WIDTH) / 2;
          const nameAt = Math.min(Math.max(offset, half), chartWidth - half);
          const text = value === null ? '—' : format(value);
          const textHalf = (text.length * LETTER_WIDTH) / 2;
          return (
            <g key={from}>
              <rect
                className="bars-bar"
                data-last={index === last || undefined}
                x={x(offset) - barWidth / 2}
                width={barWidth}
                y={y}
                height={height}
                rx="4"
              >
                <title>{t('weekValue', { day: name, value: text })}</title>
              </rect>
              {index === last && value !== null && (
                <text
                  className="bars-value"
                  x={x(Math.min(offset, chartWidth - textHalf))}
                  y={y - 7}
                  textAnchor="middle"
                >
                  {text}
                </text>
              )}
              {(last - index) % labelEvery === 0 && (
                <text className="bars-text" x={x(nameAt)} y={HEIGHT - 8} textAnchor="middle">
                  {name}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
