import { useCallback, useState } from 'react';
import { useWording } from '../i18n/language.tsx';

/** A long one is cut short, so that the field for the answer is in sight. */
export function AskedText({ text }: { text: string }) {
  const { t } = useWording();
  const [whole, setWhole] = useState(false);
  const [cut, setCut] = useState(false);
  // How many lines it takes, only the browser knows.
  const watch = useCallback((quote: HTMLQuoteElement) => {
    const observer = new ResizeObserver(() => {
      if (quote.dataset.whole === undefined) setCut(quote.scrollHeight > quote.clientHeight);
    });
    observer.observe(quote);
    return () => observer.disconnect();
  }, []);
  return (
    <>
      <blockquote ref={watch} className="asked-text" data-whole={whole || undefined} dir="auto">
        {text}
      </blockquote>
      {cut && (
        <button type="button" className="asked-toggle" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {t(whole ? 'showLess' : 'showAll')}
        </button>
      )}
    </>
  );
}
