import { navigate, type Query, type Target, useQueryParam } from '../shell/route.ts';

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

/** Opens an address of the app from a link, unless the browser shall open it elsewhere. */
export function follow(
  event: { ctrlKey: boolean; metaKey: boolean; shiftKey: boolean; preventDefault(): void },
  to: Target & { query?: Query },
): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  navigate(to);
}
