import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { Icon } from '../../shell/Icon.tsx';
import { namesOf } from '../../team/Presence.tsx';
import type { Others } from '../../team/presences.ts';
import { isExpired, isRelayed } from '../asks.ts';
import { ATTENTION_TITLES, reasonOf } from '../attention/reasons.ts';
import type { Group } from '../groups.ts';
import { ReplyWindow } from '../ReplyWindow.tsx';
import { useTypeName } from '../TypeIcon.tsx';
import { initialsOf } from './initials.ts';

interface FootProps {
  item: InboxItem;
  group: Group | undefined;
  withReason: boolean;
  present: Others;
}

/** The last line of a row: its type, the team's work on it, and its state. */
export function RowFoot({ item, group, withReason, present }: FootProps) {
  const translation = useTranslation();
  const { t } = translation;
  const typeName = useTypeName()(item.notification_type);
  const { assigned_to: person, notes, attention } = item;
  if (withReason && attention) {
    return (
      <span className="row-foot row-reason" data-kind={attention.kind}>
        <Icon name="alert" size={16} />
        <span>{reasonOf(translation, attention)}</span>
      </span>
    );
  }
  const expired = item.status === 'requested' && isExpired(item.ask);
  const phone = group || expired || attention || present.length > 0 ? '' : item.customer.phone;
  return (
    <span className="row-foot">
      <span className="row-type" data-type={item.notification_type}>
        {typeName}
      </span>
      {present.length > 0 && <Present others={present} />}
      {phone && (
        <bdi dir="ltr" className="row-phone">
          {phone}
        </bdi>
      )}
      {notes > 0 && (
        <span className="row-notes" title={t('notesCount', { n: notes })}>
          <Icon name="note" size={14} />
          <span className="visually-hidden">{t('notesCount', { n: notes })}</span>
          <span aria-hidden="true">{notes}</span>
        </span>
      )}
      {person && (
        <span className="row-person" title={person.name}>
          <span className="visually-hidden">{t('isAssignedTo', { name: person.name })}</span>
          <span aria-hidden="true">{initialsOf(person.name)}</span>
        </span>
      )}
      <State item={item} />
    </span>
  );
}

/** Who is writing an answer, else who has it open. */
function Present({ others }: { others: Others }) {
  const { t } = useTranslation();
  const typing = others.filter(({ state }) => state === 'typing');
  const [people, text] =
    typing.length > 0 ? [typing, 'presenceTyping' as const] : [others, 'presenceOpen' as const];
  return <span className="row-presence">{t(text, { names: namesOf(people), n: people.length })}</span>;
}

function State({ item }: { item: InboxItem }) {
  const { t } = useTranslation();
  if (item.attention) {
    return (
      <span className="row-attention" data-kind={item.attention.kind}>
        <Icon name="alert" size={14} /> {t(ATTENTION_TITLES[item.attention.kind])}
      </span>
    );
  }
  if (item.status === 'requested') {
    if (isExpired(item.ask)) return <span className="row-expired">{t('askExpiredMark')}</span>;
    if (item.customer.phone && !isRelayed(item.ask))
      return <ReplyWindow until={item.conversation.window_open_until} />;
    return null;
  }
  if (item.ask?.status === 'cancelled') return <span>{t('cancelled')}</span>;
  return <span>{t(item.outcome === 'resolved' ? 'resolvedMark' : 'answered')}</span>;
}
