import { useMemo } from 'react';
import type { AnswerResult } from '../../../../src/contract/groups.ts';
import type { Notification } from '../../api/types.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { useConversations } from '../../inbox/conversations.ts';
import { useStore } from '../../shell/store.ts';
import { sentToMany } from '../group/sendToMany.ts';

/** Who did not get the answer, and who did, if this notification was answered together with others. */
export function SentToMany({ id, items }: { id: number; items: readonly Notification[] }) {
  const { t } = useTranslation();
  const { results } = useStore(sentToMany);
  const about = useMemo(() => new Map(items.map((item) => [item.id, item.conversation_id])), [items]);
  const ids = useMemo(
    () => [...new Set(results.flatMap((one) => about.get(one.id) ?? []))],
    [results, about],
  );
  const customers = useConversations(ids);
  const reached = new Set(
    results.flatMap((one) => (one.status === 'answered' ? (about.get(one.id) ?? []) : [])),
  );
  if (!results.some((result) => result.id === id)) return null;
  const sorted = results.toSorted(
    (a, b) => Number(a.status === 'answered') - Number(b.status === 'answered'),
  );
  const nameOf = (result: AnswerResult) => {
    const conversation = about.get(result.id);
    return (
      (conversation !== undefined && customers.get(conversation)?.customer_name) ||
      t('unknownCustomer', { id: String(conversation ?? result.id) })
    );
  };
  return (
    <section className="sent-to-many" aria-labelledby="sent-to-many">
      <h3 id="sent-to-many">{t('sentToMany', { n: reached.size })}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <ul tabIndex={0} aria-labelledby="sent-to-many">
        {sorted.map((result) => (
          <li key={result.id} data-status={result.status}>
            <span dir="auto">{nameOf(result)}</span>
            <span className="muted">
              {result.status === 'answered'
                ? t('gotAnswer')
                : result.code === 'ALREADY_ANSWERED'
                  ? t('alreadyAnswered')
                  : result.code === 'NOTIFICATION_NOT_FOUND'
                    ? t('errorNotFound')
                    : result.message}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
