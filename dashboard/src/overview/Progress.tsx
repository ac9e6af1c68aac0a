import type { Overview } from '../../../src/contract/overview.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { follow, pathOf } from '../shell/route.ts';
import { shareTrend, speedTrend } from './trend.ts';
import { WeeklyChart } from './WeeklyChart.tsx';

/** "Are we getting better?": a sentence that answers it, and the weeks behind it. */
export function Progress({ overview: { weeks } }: { overview: Overview }) {
  const { t, duration, percent } = useTranslation();
  const share = shareTrend(weeks);
  const values = (of: 'median_seconds' | 'assistant_share') =>
    weeks.map((week) => ({ from: week.from, value: week[of] }));
  const times = values('median_seconds');
  return (
    <section className="card progress" aria-labelledby="progress-title">
      <h2 id="progress-title">{t('progressTitle')}</h2>
      <p className="progress-answer">
        <SpeedSentence weeks={weeks} />{' '}
        {share && share.now > 0 && (
          <span>
            {share.before === null || Math.abs(share.now - share.before) < 0.01
              ? t('shareNow', { now: percent(share.now) })
              : t('shareChanged', { now: percent(share.now), before: percent(share.before) })}
          </span>
        )}
      </p>
      <div className="overview-pair">
        <figure>
          <figcaption>{t('weeklyMedian')}</figcaption>
          <WeeklyChart weeks={times} label={t('weeklyMedian')} format={duration} />
        </figure>
        <figure>
          <figcaption>{t('weeklyShare')}</figcaption>
          <WeeklyChart weeks={values('assistant_share')} label={t('weeklyShare')} format={percent} />
        </figure>
      </div>
      <details className="weeks-table">
        <summary>{t('weeksAsTable')}</summary>
        <WeeksTable weeks={weeks} />
      </details>
    </section>
  );
}

function SpeedSentence({ weeks }: { weeks: Overview['weeks'] }) {
  const { t, duration, percent } = useTranslation();
  const trend = speedTrend(weeks);
  switch (trend.kind) {
    case 'faster':
    case 'slower':
      return t(trend.kind === 'faster' ? 'speedFaster' : 'speedSlower', {
        change: percent(trend.change),
        now: duration(trend.seconds),
        before: duration(trend.before),
      });
    case 'same':
      return t('speedSame', { now: duration(trend.seconds) });
    default:
      return t('speedUnknown');
  }
}

function WeeksTable({ weeks }: { weeks: Overview['weeks'] }) {
  const { t, number, duration, percent, language } = useTranslation();
  const short = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  const time = (seconds: number | null) => (seconds === null ? '—' : duration(seconds));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on a narrow screen the table scrolls, also by keyboard.
    <section className="table-scroll" tabIndex={0} aria-label={t('weeksAsTable')}>
      <table>
        <thead>
          <tr>
            {(
              [
                'week',
                'asked',
                'answered',
                'resolvedShort',
                'weeklyMedianShort',
                'p90Short',
                'weeklyShareShort',
              ] as const
            ).map((key) => (
              <th key={key} scope="col">
                {t(key)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.toReversed().map((week) => (
            <tr key={week.from}>
              <th scope="row">{short.format(new Date(`${week.from}T00:00:00Z`))}</th>
              <td>{number(week.asked)}</td>
              <td>{number(week.answered)}</td>
              <td>{number(week.resolved)}</td>
              <td>{time(week.median_seconds)}</td>
              <td>{time(week.p90_seconds)}</td>
              <td>{week.assistant_share === null ? '—' : percent(week.assistant_share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What is asked most, and who answered, in the last four weeks. */
export function LastWeeks({ overview }: { overview: Overview }) {
  const { t, number } = useTranslation();
  const { asked_most: asked, answered_by: people } = overview;
  return (
    <div className="overview-pair">
      <section className="card" aria-labelledby="asked-title">
        <h2 id="asked-title">{t('askedMost')}</h2>
        <p className="muted">{t('lastWeeks')}</p>
        {asked.length === 0 && <p>{t('askedMostEmpty')}</p>}
        <ul className="counted">
          {asked.map(({ question, count, notification_id: id }) => {
            const route = { page: 'inbox', id, query: {} } as const;
            return (
              <li key={id}>
                <a href={pathOf(route)} onClick={(event) => follow(event, route)}>
                  <bdi>{question}</bdi>
                </a>
                <strong>{number(count)}</strong>
              </li>
            );
          })}
        </ul>
      </section>
      <section className="card" aria-labelledby="people-title">
        <h2 id="people-title">{t('answeredBy')}</h2>
        <p className="muted">{t('lastWeeks')}</p>
        {people.length === 0 && <p>{t('noAnswersYet')}</p>}
        <ul className="counted">
          {people.map(({ kind, id, name, count }) => (
            <li key={`${kind} ${id}`}>
              <span>
                <bdi>{name ?? t('formerColleague')}</bdi>{' '}
                {kind === 'key' && <span className="tag">{t('program')}</span>}
              </span>
              <strong>{number(count)}</strong>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}
