import type { AttentionMessage } from '../../../../src/contract/inbox.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { navigate, pathOf } from '../../shell/route.ts';
import { useNow } from '../../shell/useNow.ts';
import { AttentionActions } from './AttentionActions.tsx';
import { reasonOf } from './reasons.ts';

interface MessagesProps {
  messages: readonly AttentionMessage[];
  /** Nothing else is listed. */
  alone: boolean;
}

/** What somebody wrote without a question, and what did not reach the customer. */
export function AttentionMessages({ messages, alone }: MessagesProps) {
  const { t } = useTranslation();
  if (messages.length === 0) return null;
  return (
    <section
      className="attention-messages"
      data-alone={alone || undefined}
      aria-label={t('attentionMessages')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
      tabIndex={0}
    >
      <h2>{t('attentionMessages')}</h2>
      <ul>
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </ul>
    </section>
  );
}

function Message({ message }: { message: AttentionMessage }) {
  const translation = useTranslation();
  const { t, relative } = translation;
  const now = useNow();
  const { id, customer, conversation, notification_id: notificationId, attention } = message;
  const name = customer.name || t('unknownCustomer', { id: String(conversation.id) });
  const about = (
    <>
      <span className="row-head">
        <strong className="row-name">{name}</strong>
        <span className="row-time">{relative(attention.since, now)}</span>
      </span>
      <span className="row-text">
        <bdi>{message.text}</bdi>
      </span>
    </>
  );
  return (
    <li className="attention-message" data-message={id}>
      {notificationId === null ? (
        <div className="attention-about">{about}</div>
      ) : (
        <a
          className="attention-about"
          href={pathOf({ page: 'inbox', id: notificationId })}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            navigate({ page: 'inbox', id: notificationId });
          }}
        >
          {about}
        </a>
      )}
      <span className="row-foot row-reason" data-kind={attention.kind}>
        <Icon name="alert" size={16} />
        <span>{reasonOf(translation, attention)}</span>
      </span>
      <AttentionActions item={message} message={{ deliveryId: id }} small />
    </li>
  );
}
