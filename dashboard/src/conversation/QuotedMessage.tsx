import { ActionIcon } from '@mantine/core';
import { useTranslation } from '../i18n/translation.tsx';
import { Icon } from '../shell/Icon.tsx';
import { useStore } from '../shell/store.ts';
import { quotes, setQuote } from './quotes.ts';

/** What the text below quotes, if anything. */
export function QuotedMessage({ conversationId }: { conversationId: number }) {
  const { t } = useTranslation();
  const quote = useStore(quotes).get(conversationId);
  if (!quote) return null;
  return (
    <div className="composer-quote">
      <p>
        <span className="muted">{t('talkQuoting')}</span> <bdi>{quote.text}</bdi>
      </p>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={44}
        aria-label={t('talkQuoteRemove')}
        onClick={() => setQuote(conversationId, undefined)}
      >
        <Icon name="close" size={16} />
      </ActionIcon>
    </div>
  );
}
