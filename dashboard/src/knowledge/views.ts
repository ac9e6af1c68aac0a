import { type Query, useQueryParam } from '../shell/route.ts';

/** What the list of the knowledge base shows. */
export const VIEWS = ['documents', 'gaps', 'stale', 'changes'] as const;
export type KnowledgeView = (typeof VIEWS)[number];

export function useKnowledgeView(): KnowledgeView {
  const [given] = useQueryParam('show', 'documents');
  return VIEWS.find((view) => view === given) ?? 'documents';
}

export const queryOfKnowledge = (view: KnowledgeView, more: Query = {}): Query => ({
  ...(view === 'documents' ? {} : { show: view }),
  ...more,
});
