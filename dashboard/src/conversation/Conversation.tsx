import { Button } from '@mantine/core';
import { Fragment, type ReactNode, useLayoutEffect, useMemo, useRef } from 'react';
import type { NotificationDetail } from '../api/types.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { useNow } from '../shell/useNow.ts';
import { Takeover } from './Takeover.tsx';
import { TurnBubble } from './TurnBubble.tsx';
import { withAnswers, withQuestion } from './thread.ts';
import { type Turn, useTimeline } from './timeline.ts';
import { WindowNotice } from './WindowNotice.tsx';

interface ConversationProps {
  /** The notification that is open: its question is marked. */
  item: NotificationDetail;
  /** The customer's name, when it is loaded. */
  name: string | undefined;
  /** Whether the customer's messages can be quoted in the message below. */
  canQuote: boolean;
  /** The notification's answer in its place, around its bubble. It has none if nothing was sent. */
  answer?: ((bubble: ReactNode) => ReactNode) | undefined;
}

/** What customer, assistant and merchant said, oldest first, with the question in its place. */
export function Conversation({ item, name, canQuote, answer }: ConversationProps) {
  const { t, relative, dateTime } = useTranslation();
  const now = useNow();
  const { conversation_id: id } = item;
  const { turns, latest, error, hasEarlier, isLoadingEarlier, loadEarlier, reload } = useTimeline(id);
  const hasAnswer = answer !== undefined;
  const shown = useMemo(() => {
    const asked = withQuestion(turns ?? [], item);
    return hasAnswer ? withAnswers(asked, item) : asked;
  }, [turns, item, hasAnswer]);
  const log = useScrolling(
    shown,
    turns !== undefined,
    hasEarlier && !isLoadingEarlier ? loadEarlier : undefined,
  );
  const answerAfter = placeOfAnswer(shown, item.id);
  return (
    <section className="conversation" aria-label={t('talkTitle')}>
      {latest && (
        <div className="conversation-head">
          {name !== undefined && <WindowNotice latest={latest} name={name} />}
          <Takeover conversation={latest.conversation} />
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <div ref={log} className="conversation-log" role="log" aria-label={t('talkTitle')} tabIndex={0}>
        {hasEarlier && (
          <Button
            className="conversation-earlier"
            variant="subtle"
            loading={isLoadingEarlier}
            onClick={loadEarlier}
          >
            {t('talkEarlier')}
          </Button>
        )}
        {error !== null && !turns && (
          <p className="notice">
            {t('talkLoadFailed')}{' '}
            <Button variant="default" size="compact-md" onClick={reload}>
              {t('retry')}
            </Button>
          </p>
        )}
        {shown.map((turn, index) => {
          const marked = turn.question?.notification_id === item.id;
          const bubble = (
            <TurnBubble
              {...{ turn, name, marked }}
              isAnswer={turn.notification_id === item.id}
              isNext={turn.reply_to?.id === shown[index - 1]?.id}
              quoteIn={canQuote ? id : undefined}
            >
              <p className="question-time" title={dateTime(item.created_at)}>
                {t(item.notification_type === 'user_support_request' ? 'wantsPerson' : 'askedAt', {
                  time: relative(item.created_at, now),
                })}
              </p>
            </TurnBubble>
          );
          const isAnswer = turn.notification_id === item.id;
          return (
            <Fragment key={turn.id}>
              {isNewDay(shown[index - 1], turn) && <DaySeparator at={turn.at} now={now} />}
              {isAnswer && answer ? answer(bubble) : bubble}
              {!isAnswer && index === answerAfter && answer?.(undefined)}
            </Fragment>
          );
        })}
      </div>
    </section>
  );
}

/** The turn after which the answer comes: the answer's own place, or the question's if no message has it. */
function placeOfAnswer(turns: readonly Turn[], notificationId: number): number {
  const answer = turns.findIndex(({ notification_id }) => notification_id === notificationId);
  if (answer >= 0) return answer;
  return turns.findIndex(({ question }) => question?.notification_id === notificationId);
}

const dayOf = (at: string) => new Date(at).toDateString();
const isNewDay = (before: Turn | undefined, turn: Turn) => !before || dayOf(before.at) !== dayOf(turn.at);

function DaySeparator({ at, now }: { at: string; now: number }) {
  const { day } = useTranslation();
  return (
    <p className="conversation-day">
      <time dateTime={at}>{day(at, now)}</time>
    </p>
  );
}

/** How near the end or the beginning counts as there. */
const NEAR_PX = 48;
/** Above the question. */
const GAP_PX = 8;

interface Scrolled {
  firstId: string | undefined;
  lastId: string | undefined;
  height: number;
  isAtEnd: boolean;
}

/**
 * Begins at the end, or at the question if that would hide it. Stays at the end when something is said, and goes there when
 * the user writes. When earlier turns are added, what the user reads stays where it is.
 */
function useScrolling(turns: readonly Turn[], isLoaded: boolean, loadEarlier: (() => void) | undefined) {
  const log = useRef<HTMLDivElement>(null);
  const scrolled = useRef<Scrolled | undefined>(undefined);
  const firstId = turns[0]?.id;
  const last = turns.at(-1);
  useLayoutEffect(() => {
    const box = log.current;
    if (!box) return;
    const before = scrolled.current;
    if (!before) {
      box.scrollTop = box.scrollHeight;
      const question = box.querySelector('[data-marked]') ?? box;
      const hidden = question.getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (hidden < 0) box.scrollTop += hidden - GAP_PX;
      if (!isLoaded) return;
    } else if (before.isAtEnd || (before.lastId !== last?.id && last?.from === 'merchant')) {
      box.scrollTop = box.scrollHeight;
    } else if (before.firstId !== firstId) box.scrollTop += box.scrollHeight - before.height;
    scrolled.current = { firstId, lastId: last?.id, height: box.scrollHeight, isAtEnd: isAtEnd(box) };
  }, [firstId, last, isLoaded]);
  useLayoutEffect(() => {
    const box = log.current;
    if (!box) return;
    const onScroll = () => {
      if (!scrolled.current) return;
      scrolled.current = { ...scrolled.current, height: box.scrollHeight, isAtEnd: isAtEnd(box) };
      if (box.scrollTop < NEAR_PX) loadEarlier?.();
    };
    box.addEventListener('scroll', onScroll);
    return () => box.removeEventListener('scroll', onScroll);
  }, [loadEarlier]);
  return log;
}

const isAtEnd = (box: HTMLElement) => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
