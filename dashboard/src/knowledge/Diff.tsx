import { useMemo } from 'react';
import { useTranslation } from '../i18n/translation.tsx';
import { diffOf, withoutDistant } from './diff.ts';

/** What a change removes and adds, in one text. Long passages without a change are left out. */
export function Diff({ before, after }: { before: string; after: string }) {
  const { t } = useTranslation();
  const parts = useMemo(() => withoutDistant(diffOf(before, after)), [before, after]);
  if (before === after) return <p className="muted">{t('diffNone')}</p>;
  return (
    <p className="diff" dir="auto">
      {parts.map(({ kind, text }, index) => {
        if (kind === 'same') return <span key={index}>{text}</span>;
        const Tag = kind === 'removed' ? 'del' : 'ins';
        return (
          <Tag key={index}>
            <span className="visually-hidden">{t(kind === 'removed' ? 'diffRemoved' : 'diffAdded')} </span>
            {text}
          </Tag>
        );
      })}
    </p>
  );
}
