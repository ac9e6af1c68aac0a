import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { InboxItem } from '../../../../src/contract/inbox.ts';
import { calls } from '../../api/calls.ts';
import { request } from '../../api/client.ts';
import { useTranslation } from '../../i18n/translation.tsx';
import { isRelayed } from '../../inbox/asks.ts';
import { customersIn, type Group } from '../../inbox/groups.ts';
import { refreshInbox } from '../../inbox/notifications.ts';
import { ReplyWindow } from '../../inbox/ReplyWindow.tsx';
import { TypeIcon } from '../../inbox/TypeIcon.tsx';
import { tickedInGroup } from '../../inbox/view.ts';
import { useReplyWindow } from '../../settings/channel.ts';
import { BackButton } from '../../shell/BackButton.tsx';
import { showToast } from '../../shell/toasts.tsx';
import { useNow } from '../../shell/useNow.ts';
import { Presence } from '../../team/Presence.tsx';
import { readDraft } from '../drafts.ts';
import { useFocusAfterMove } from '../moveOn.ts';
import { QuestionText } from '../QuestionText.tsx';
import { Suggestions } from '../Suggestions.tsx';
import { GroupForm } from './GroupForm.tsx';

/** One answer for all customers who ask the same. */
export function GroupPane({ group, onUngroup }: { group: Group; onUngroup: (id: number) => void }) {
  const { t } = useTranslation();
  const first = oldestOf(group);
  const heading = useFocusAfterMove(group[0]!.id);
  // A question that arrives while the user reads or writes is not ticked: nobody has looked at it.
  const [ticked, setTicked] = useState(() => tickedFirst(group));
  const chosen = group.filter(({ id }) => ticked.has(id));
  useEffect(() => {
    tickedInGroup.set(ticked);
    return () => tickedInGroup.set(undefined);
  }, [ticked]);
  const toggle = (id: number) => {
    const next = new Set(ticked);
    if (!next.delete(id)) next.add(id);
    setTicked(next);
  };
  return (
    <div className="pane">
      <header className="notification-header">
        <div className="pane-bar">
          <BackButton to={{ page: 'inbox', id: undefined }} />
          <TypeIcon type={first.notification_type} />
          <div className="pane-customer">
            <h2 ref={heading} tabIndex={-1}>
              {t('groupTitle', { n: customersIn(group) })}
            </h2>
            <p>{t('groupHint')}</p>
          </div>
        </div>
        <QuestionText text={first.question} />
      </header>
      <Members group={group} ticked={ticked} onToggle={toggle} onUngroup={onUngroup} />
      <div className="pane-body">
        <div className="pane-main">
          <Presence id={first.id} />
          <GroupForm item={first} chosen={chosen} />
        </div>
        <Suggestions item={first} />
      </div>
    </div>
  );
}

/** Its question stands for the group. */
const oldestOf = (group: Group): InboxItem => group.reduce((a, b) => (b.id < a.id ? b : a));

/** All, but an answer that was begun earlier is only for those whom it was begun for. */
function tickedFirst(group: Group): ReadonlySet<number> {
  const { id } = oldestOf(group);
  const { fields, ticked } = readDraft(id);
  return new Set(fields.answer ? (ticked ?? [id]) : group.map((item) => item.id));
}

/** Long enough to look at what is left of the group. */
const UNGROUPED_SHOWN_MS = 8000;

interface MembersProps {
  group: Group;
  ticked: ReadonlySet<number>;
  onToggle: (id: number) => void;
  onUngroup: (id: number) => void;
}

function Members({ group, ticked, onToggle, onUngroup }: MembersProps) {
  const { t, relative } = useTranslation();
  const client = useQueryClient();
  const now = useNow();
  const replyWindow = useReplyWindow();
  const ungroup = async (id: number) => {
    onUngroup(id);
    try {
      await request(calls.ungroup(id));
      const close = showToast('ungrouped', {
        durationMs: UNGROUPED_SHOWN_MS,
        undo() {
          close();
          void regroup(id);
        },
      });
    } catch {
      showToast('errorServer', { tone: 'error' });
    }
    await refreshInbox(client);
  };
  const regroup = async (id: number) => {
    try {
      await request(calls.regroup(id));
    } catch {
      showToast('errorServer', { tone: 'error' });
    }
    await refreshInbox(client);
  };
  return (
    <ul className="group-members" aria-label={t('groupMembers')}>
      {group.map((item) => {
        const { customer, conversation } = item;
        const name = customer.name || t('unknownCustomer', { id: String(conversation.id) });
        return (
          <li key={item.id} className="group-member">
            <label className="group-check">
              <input type="checkbox" checked={ticked.has(item.id)} onChange={() => onToggle(item.id)} />
              <span className="group-text">
                <strong dir="auto">{name}</strong>{' '}
                <span className="muted">
                  {relative(item.created_at, now)}
                  {replyWindow.isShown && customer.phone && !isRelayed(item.ask) && (
                    <>
                      {' · '}
                      <ReplyWindow until={conversation.window_open_until} />
                    </>
                  )}
                </span>
                <span className="group-question">
                  <bdi>{item.question}</bdi>
                </span>
              </span>
            </label>
            {group.length > 1 && (
              <Button
                variant="subtle"
                color="gray"
                aria-label={`${t('ungroup')}: ${name}`}
                onClick={() => void ungroup(item.id)}
              >
                {t('ungroup')}
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
