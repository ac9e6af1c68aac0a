import { Kbd, Skeleton } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import type { Suggestion } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { CurlButton } from '../shell/CurlButton.tsx';
import { useShortcuts } from '../shortcuts/useShortcuts.ts';
import { textToInsert } from './textToInsert.ts';

const NONE: readonly Suggestion[] = [];
/** Below this score, the questions share little more than a few words. The server leaves out what has even less. */
const GOOD_SCORE_MIN = 0.5;

export const suggestionsOf = (id: number) =>
  queryOptions({
    queryKey: ['suggestions', id],
    queryFn: ({ signal }) => request<Suggestion[]>(calls.suggestions(id), { signal }),
  });

export function Suggestions({ item }: { item: { id: number } }) {
  const { t, percent } = useTranslation();
  const query = useQuery(suggestionsOf(item.id));
  const found = query.data ?? NONE;
  const use = ({ kind, id, question, answer }: Suggestion) =>
    textToInsert.set({
      id: item.id,
      text: answer,
      document: kind === 'document' ? { id, title: question } : undefined,
    });
  useShortcuts(
    Object.fromEntries(found.map((suggestion, index) => [String(index + 1), () => use(suggestion)])),
  );

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
        {found.map((suggestion, index) => (
          <li key={`${suggestion.kind}-${suggestion.id}`}>
            <button type="button" className="suggestion" onClick={() => use(suggestion)}>
              <span className="suggestion-question" dir="auto">
                {suggestion.question}
              </span>
              <span className="suggestion-answer" dir="auto">
                {suggestion.answer}
              </span>
              <span className="suggestion-foot">
                <Kbd className="key-hint in-form">{index + 1}</Kbd>
                <span>
                  {t(suggestion.kind === 'document' ? 'suggestionDocument' : 'suggestionNotification')}
                </span>
                <span className="tabular">
                  {suggestion.score < GOOD_SCORE_MIN
                    ? t('suggestionWeak')
                    : t('suggestionMatch', { percent: percent(suggestion.score) })}
                </span>
                <span className="suggestion-use">{t('suggestionUse')}</span>
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
