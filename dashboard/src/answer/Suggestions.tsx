import { Kbd, Skeleton } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Notification, Suggestion } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { useShortcuts } from '../shortcuts/useShortcuts.ts';
import { textToInsert } from './textToInsert.ts';

const NONE: readonly Suggestion[] = [];

export const suggestionsOf = (id: number) =>
  queryOptions({
    queryKey: ['suggestions', id],
    queryFn: ({ signal }) => request<Suggestion[]>(calls.suggestions(id), { signal }),
  });

export function Suggestions({ item }: { item: Notification }) {
  const { t, percent } = useTranslation();
  const query = useQuery(suggestionsOf(item.id));
  const found = query.data ?? NONE;
  const use = (text: string) => textToInsert.set({ id: item.id, text });
  useShortcuts(Object.fromEntries(found.map(({ answer }, index) => [String(index + 1), () => use(answer)])));

  return (
    <section className="suggestions" aria-labelledby="suggestions-title">
      <div className="suggestions-head">
        <h3 id="suggestions-title">{t('suggestions')}</h3>
        <CurlButton call={calls.suggestions(item.id)} label={t('suggestions')} />
      </div>
      {query.isPending && <Skeleton height={72} radius="md" />}
      {query.isSuccess && found.length === 0 && (
        <p className="muted">
          {t('noSuggestions')} {t('noSuggestionsHint')}
        </p>
      )}
      <ol>
        {found.map(({ kind, id, question, answer, score }, index) => (
          <li key={`${kind}-${id}`}>
            <button type="button" className="suggestion" onClick={() => use(answer)}>
              <span className="suggestion-question" dir="auto">
                {question}
              </span>
              <span className="suggestion-answer" dir="auto">
                {answer}
              </span>
              <span className="suggestion-foot">
                <Kbd className="key-hint in-form">{index + 1}</Kbd>
                <span>{t(kind === 'document' ? 'suggestionDocument' : 'suggestionNotification')}</span>
                <span className="tabular">{t('suggestionMatch', { percent: percent(score) })}</span>
                <span className="suggestion-use">{t('suggestionUse')}</span>
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
