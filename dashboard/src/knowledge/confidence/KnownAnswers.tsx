import { Button, Skeleton } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useCursorPages } from '../../api/pages.ts';
import type { KnownAnswer, KnownAnswers as Page } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { ErrorNotice } from '../../shell/ErrorNotice.tsx';
import { errorMessage } from '../../shell/errorMessage.ts';
import { useFocusWhen } from '../../shell/focus.ts';
import { Icon } from '../../shell/Icon.tsx';
import { LoadMore } from '../../shell/LoadMore.tsx';
import { follow, pathOf } from '../../shell/route.ts';
import { useNow } from '../../shell/useNow.ts';

/** What the assistant answered without a person. People judge it, and what is learned follows. */
export function KnownAnswers() {
  const translation = useTranslation();
  const { t } = translation;
  const client = useQueryClient();
  const query = useCursorPages<Page>(['known'], calls.knownAnswers, { staleTime: 0 });
  const judge = useMutation({
    mutationFn: ({ id, outcome }: { id: number; outcome: KnownAnswer['outcome'] }) =>
      request(calls.judgeKnown(id, outcome)),
    onSettled: () =>
      Promise.all(['known', 'confidence'].map((key) => client.invalidateQueries({ queryKey: [key] }))),
  });
  const failure = query.error ?? judge.error;
  const answers = query.data?.pages.flatMap(({ known }) => known);
  return (
    <section className="known" aria-labelledby="known-answers">
      <h3 id="known-answers">{t('knownAnswers')}</h3>
      <ErrorNotice text={failure ? errorMessage(translation, failure) : undefined} />
      {query.isPending && <Skeleton height={72} radius="md" />}
      {answers?.length === 0 && <p className="muted">{t('knownNone')}</p>}
      <ul>
        {answers?.map((answer) => (
          <li key={answer.id}>
            <Known answer={answer} onJudge={(outcome) => judge.mutate({ id: answer.id, outcome })} />
          </li>
        ))}
      </ul>
      <LoadMore query={query} />
    </section>
  );
}

function Known(props: { answer: KnownAnswer; onJudge: (outcome: KnownAnswer['outcome']) => void }) {
  const { t, percent, relative } = useTranslation();
  const now = useNow();
  const [judgedAs, setJudgedAs] = useState<KnownAnswer['outcome'] | undefined>();
  const { question, document, score, outcome, judged_by, created_at } = props.answer;
  // The button that was pressed is replaced by another, which gets the focus.
  const nextButton = useFocusWhen<HTMLButtonElement>(judgedAs === outcome && (outcome ?? 'undone'));
  const judge = (as: KnownAnswer['outcome']) => {
    setJudgedAs(as);
    props.onJudge(as);
  };
  const route = { page: 'knowledge', id: document.id } as const;
  return (
    <>
      <strong dir="auto">{question}</strong>
      {document.body !== null && (
        <span className="known-body" dir="auto">
          {document.body}
        </span>
      )}
      {document.title === null ? (
        <span className="muted">{t('knownDeleted')}</span>
      ) : (
        <a dir="auto" href={pathOf(route)} onClick={(event) => follow(event, route)}>
          {outcome === 'wrong' ? t('knownCorrect', { title: document.title }) : document.title}
        </a>
      )}
      <span className="muted">
        {t('suggestionMatch', { percent: percent(score) })} · {relative(created_at, now)}
      </span>
      <span className="known-actions">
        {outcome === null ? (
          (['right', 'wrong'] as const).map((one) => (
            <Button
              key={one}
              variant="default"
              leftSection={<Icon name={one === 'right' ? 'check' : 'close'} size={16} />}
              aria-label={`${t(LABELS[one])}: ${question}`}
              ref={one === 'right' ? nextButton : null}
              onClick={() => judge(one)}
            >
              {t(LABELS[one])}
            </Button>
          ))
        ) : (
          <>
            <span className="tag">{t(LABELS[outcome])}</span>
            {judged_by !== null && <span className="muted">{judged_by}</span>}
            <Button
              variant="default"
              leftSection={<Icon name="undo" size={16} />}
              aria-label={`${t('undo')}: ${question}`}
              ref={nextButton}
              onClick={() => judge(null)}
            >
              {t('undo')}
            </Button>
          </>
        )}
      </span>
    </>
  );
}

const LABELS = { right: 'knownRight', wrong: 'knownWrong' } as const;
