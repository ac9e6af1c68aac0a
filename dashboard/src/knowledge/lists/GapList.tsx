import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { KnowledgeGap } from '../../../../src/contract/knowledgeUpkeep.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { EmptyState } from '../../shell/EmptyState.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { navigate } from '../../shell/route.ts';
import { useNow } from '../../shell/useNow.ts';
import { readNewDocument, saveNewDocument } from '../drafts.ts';
import { queryOfKnowledge } from '../views.ts';
import { KnowledgeList } from './KnowledgeList.tsx';

/** What customers asked and no document answers. */
export function GapList() {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: ['gaps'],
    queryFn: async ({ signal }) =>
      (await request<{ gaps: KnowledgeGap[] }>(calls.knowledgeGaps(), { signal })).gaps,
  });
  const gaps = query.data ?? [];
  return (
    <KnowledgeList
      query={query}
      label={t('viewGaps')}
      empty={<EmptyState icon="check" title={t('gapsEmpty')} hint={t('gapsEmptyHint')} />}
      rows={gaps.map((gap) => (
        <li key={`${gap.pending_ids.join()} ${gap.answered_id}`} className="gap">
          <Gap gap={gap} />
        </li>
      ))}
    />
  );
}

function Gap({ gap }: { gap: KnowledgeGap }) {
  const { t, relative } = useTranslation();
  const now = useNow();
  const { question, count, pending_ids: pending, answered_id: answeredId, answer, newest_at: newest } = gap;
  const write = () => {
    const name = String(answeredId);
    if (!readNewDocument(name))
      saveNewDocument(name, { title: question, body: answer ?? '', notificationId: answeredId });
    navigate({ page: 'knowledge', query: queryOfKnowledge('gaps', { new: name }) });
  };
  return (
    <>
      <strong dir="auto">{question}</strong>
      <span className="row-foot">
        <span>{t('gapCount', { n: count })}</span>
        <span>{relative(newest, now)}</span>
      </span>
      {answer !== null && (
        <span className="row-text" dir="auto">
          {answer}
        </span>
      )}
      <span className="gap-actions">
        {pending.length > 0 && (
          <Button
            variant={pending.length > 1 ? 'filled' : 'default'}
            leftSection={<Icon name="send" size={18} />}
            aria-label={`${t('gapAnswer', { n: pending.length })}: ${question}`}
            onClick={() => navigate({ page: 'inbox', id: pending[0], query: {} })}
          >
            {t('gapAnswer', { n: pending.length })}
          </Button>
        )}
        {answeredId !== null && (
          <Button
            variant="default"
            leftSection={<Icon name="pencil" size={18} />}
            aria-label={`${t('gapWrite')}: ${question}`}
            onClick={write}
          >
            {t('gapWrite')}
          </Button>
        )}
      </span>
    </>
  );
}
