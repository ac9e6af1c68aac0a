import type { NotificationType } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useTypeName } from '../inbox/TypeIcon.tsx';

const WIDTH = 300;

export function TypeShare({ counts }: { counts: Readonly<Record<NotificationType, number>> }) {
  const { number, percent, direction } = useTranslation();
  const nameOf = useTypeName();
  const entries = Object.entries(counts) as [NotificationType, number][];
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  return (
    <ul className="shares">
      {entries.map(([type, count]) => {
        const share = total === 0 ? 0 : count / total;
        return (
          <li key={type}>
            <span className="shares-name">
              {nameOf(type)} <strong>{number(count)}</strong>
              <span className="muted">{percent(share)}</span>
            </span>
            <svg viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
              <rect className="shares-track" width={WIDTH} height="10" rx="5" />
              <rect
                className="shares-fill"
                data-type={type}
                x={direction === 'rtl' ? WIDTH * (1 - share) : 0}
                width={WIDTH * share}
                height="10"
                rx="5"
              />
            </svg>
          </li>
        );
      })}
    </ul>
  );
}
