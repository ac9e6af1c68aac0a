import type { AnswerResult } from '../../../../src/contract/groups.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { useItems } from '../../inbox/list/items.ts';
import { useStore } from '../../shell/store.ts';
import { sentToMany } from '../group/sendToMany.ts';

/** Who did not get the answer, and who did, if this notification was answered together with others. */
export function SentToMany({ id }: { id: number }) {
  const { t } = useTranslation();
  const { results } = useStore(sentToMany);
  const isOneOfThem = results.some((result) => result.id === id);
  const { data: items = [] } = useItems(isOneOfThem ? results.map((one) => one.id) : []);
  const about = new Map(items.map((item) => [item.id, item]));
  const reached = new Set(
    results.flatMap((one) =>
      one.status === 'answered' ? (about.get(one.id)?.conversation.id ?? one.id) : [],
    ),
  );
  if (!isOneOfThem) return null;
  const sorted = results.toSorted(
    (a, b) => Number(a.status === 'answered') - Number(b.status === 'answered'),
  );
  const nameOf = ({ id: of }: AnswerResult) =>
    about.get(of)?.customer.name ||
    t('unknownCustomer', { id: String(about.get(of)?.conversation.id ?? of) });
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
