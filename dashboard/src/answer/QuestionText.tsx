import { useCallback, useState } from 'react';
import { useTranslation } from '../i18n/translation.tsx';

/** Shortens a long text so that the answer field stays visible. */
export function QuestionText({ text }: { text: string }) {
  const { t } = useTranslation();
  const [expanded, setExpanded] = useState(false);
  const [shortened, setShortened] = useState(false);
  // Only the browser knows how many lines the text takes.
  const watch = useCallback((quote: HTMLQuoteElement) => {
    const observer = new ResizeObserver(() => {
      if (quote.dataset.expanded === undefined) setShortened(quote.scrollHeight > quote.clientHeight);
    });
    observer.observe(quote);
    return () => observer.disconnect();
  }, []);
  return (
    <>
      <blockquote ref={watch} className="question-text" data-expanded={expanded || undefined} dir="auto">
        {text}
      </blockquote>
      {shortened && (
        <button
          type="button"
          className="question-toggle"
          aria-expanded={expanded}
          onClick={() => setExpanded(!expanded)}
        >
          {t(expanded ? 'showLess' : 'showAll')}
        </button>
      )}
    </>
  );
}
