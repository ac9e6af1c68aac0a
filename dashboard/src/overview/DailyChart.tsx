import { useElementSize } from '@mantine/hooks';
import type { Overview } from '../../../src/contract/overview.ts';
import { useTranslation } from '../i18n/translation.tsx';

type Day = Overview['answered_per_day'][number];

const HEIGHT = 220;
/** Used until the real width is measured. */
const WIDTH_DEFAULT = 640;
const TOP = 16;
const BOTTOM = 28;
const LEFT = 34;
/** Enough room between two dates in every language. */
const LABEL_SPACING = 100;
/** An upper estimate, so that labels are never clipped. */
const LETTER_WIDTH = 7.5;

/** The top of the scale: a round, even number that is at least as high as the highest bar. */
function roundTop(highest: number): number {
  const rough = Math.max(4, highest);
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 4, 5, 10])
    if (power * factor >= rough && (power * factor) % 2 === 0) return power * factor;
  return power * 10;
}

/** Plain SVG instead of a chart library: nothing to load, and it follows the language and text direction. */
export function DailyChart({ days }: { days: readonly Day[] }) {
  const { t, number, language, direction } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const chartWidth = width || WIDTH_DEFAULT;
  const top = roundTop(Math.max(0, ...days.map(({ count }) => count)));
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const plotHeight = HEIGHT - TOP - BOTTOM;
  const step = (chartWidth - LEFT) / Math.max(1, days.length);
  const barWidth = Math.min(36, step * 0.62);
  const x = (offset: number) => (direction === 'rtl' ? chartWidth - offset : offset);
  const y = (count: number) => TOP + plotHeight * (1 - count / top);
  const labelEvery = Math.ceil(days.length / Math.max(2, Math.floor(chartWidth / LABEL_SPACING)));
  const short = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return (
    <div ref={ref}>
      <svg
        className="bars"
        viewBox={`0 0 ${chartWidth} ${HEIGHT}`}
        role="img"
        aria-label={t('chartLabel', { total })}
      >
        {[0, top / 2, top].map((line) => (
          <g key={line}>
            <line className="bars-line" x1={x(LEFT)} x2={x(chartWidth)} y1={y(line)} y2={y(line)} />
            <text className="bars-text" x={x(LEFT - 8)} y={y(line) + 4} textAnchor="end">
              {number(line)}
            </text>
          </g>
        ))}
        {days.map(({ day, count }, index) => {
          const offset = LEFT + step * (index + 0.5);
          const middle = x(offset);
          const name = short.format(new Date(`${day}T00:00:00Z`));
          const nameMiddle = x(Math.min(offset, chartWidth - (name.length * LETTER_WIDTH) / 2));
          return (
            <g key={day}>
              <rect
                className="bars-bar"
                x={middle - barWidth / 2}
                width={barWidth}
                y={y(count)}
                height={Math.max(0, y(0) - y(count))}
                rx="4"
              >
                <title>{t('perDayLabel', { day: name, n: count })}</title>
              </rect>
              {count > 0 && days.length <= 14 && (
                <text className="bars-value" x={middle} y={y(count) - 5} textAnchor="middle">
                  {number(count)}
                </text>
              )}
              {(days.length - 1 - index) % labelEvery === 0 && (
                <text className="bars-text" x={nameMiddle} y={HEIGHT - 8} textAnchor="middle">
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
