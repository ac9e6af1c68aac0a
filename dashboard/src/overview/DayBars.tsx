import { useElementSize } from '@mantine/hooks';
import type { Overview } from '../../../src/contract/overview.ts';
import { useWording } from '../i18n/language.tsx';

type Day = Overview['answered_per_day'][number];

const HEIGHT = 220;
/** Until it is measured. */
const WIDTH_USUAL = 640;
const TOP = 16;
const BOTTOM = 28;
const LEFT = 34;
/** Rather too wide than clipped. */
const LETTER_WIDTH = 7.5;

/** A round number of lines that reads well, at least as high as the highest bar. */
function niceTop(highest: number): number {
  const rough = Math.max(4, highest);
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 4, 5, 10])
    if (power * factor >= rough && (power * factor) % 2 === 0) return power * factor;
  return power * 10;
}

/** Bars by hand: nothing to load, and they speak the reader's language and direction. */
export function DayBars({ days }: { days: readonly Day[] }) {
  const { t, number, language, direction } = useWording();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const whole = width || WIDTH_USUAL;
  const top = niceTop(Math.max(0, ...days.map(({ count }) => count)));
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const plotHeight = HEIGHT - TOP - BOTTOM;
  const step = (whole - LEFT) / Math.max(1, days.length);
  const barWidth = Math.min(36, step * 0.62);
  const x = (place: number) => (direction === 'rtl' ? whole - place : place);
  const y = (count: number) => TOP + plotHeight * (1 - count / top);
  const labelEvery = Math.ceil(days.length / Math.max(2, Math.floor(whole / 90)));
  const short = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return (
    <div ref={ref}>
      <svg
        className="bars"
        viewBox={`0 0 ${whole} ${HEIGHT}`}
        role="img"
        aria-label={t('chartLabel', { total })}
      >
        {[0, top / 2, top].map((line) => (
          <g key={line}>
            <line className="bars-line" x1={x(LEFT)} x2={x(whole)} y1={y(line)} y2={y(line)} />
            <text className="bars-text" x={x(LEFT - 8)} y={y(line) + 4} textAnchor="end">
              {number(line)}
            </text>
          </g>
        ))}
        {days.map(({ day, count }, index) => {
          const place = LEFT + step * (index + 0.5);
          const middle = x(place);
          const name = short.format(new Date(`${day}T00:00:00Z`));
          const nameMiddle = x(Math.min(place, whole - (name.length * LETTER_WIDTH) / 2));
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
