import type { ReactNode } from 'react';
import type { Document } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { follow, pathOf } from '../../shell/route.ts';
import { useNow } from '../../shell/useNow.ts';
import { queryOfKnowledge, useKnowledgeView } from '../views.ts';

export function DocumentRow({
  document,
  open,
  reason,
}: {
  document: Document;
  open: boolean;
  /** Why somebody should look at it. */
  reason?: ReactNode;
}) {
  const { t, relative } = useTranslation();
  const now = useNow();
  const route = { page: 'knowledge', id: document.id, query: queryOfKnowledge(useKnowledgeView()) } as const;
  return (
    <a
      className="document-row"
      href={pathOf(route)}
      aria-current={open ? 'page' : undefined}
      onClick={(event) => follow(event, route)}
    >
      <strong dir="auto">{document.title}</strong>
      <span className="row-text" dir="auto">
        {document.body}
      </span>
      {reason && <span className="row-reason">{reason}</span>}
      <span className="row-foot">
        <span>{t('version', { version: document.version })}</span>
        <span>{t('updatedAgo', { time: relative(document.updated_at, now) })}</span>
      </span>
    </a>
  );
}
