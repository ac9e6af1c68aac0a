import { ActionIcon, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { QuestionText } from '../answer/QuestionText.tsx';
import type { DeliveryState } from '../api/types.ts';
import type { TextKey } from '../i18n/texts.ts';
import { useTranslation } from '../i18n/translation.tsx';
import { SendAgainButton } from '../inbox/attention/SendAgainButton.tsx';
import { Icon } from '../shell/Icon.tsx';
import { useNow } from '../shell/useNow.ts';
import { Ticks } from '../testPhone/Ticks.tsx';
import { setQuote } from './quotes.ts';
import type { Turn } from './timeline.ts';

const STATES: Record<DeliveryState, TextKey> = {
  queued: 'stateQueued',
  sending: 'stateSending',
  waiting: 'stateWaiting',
  sent: 'stateSent',
  delivered: 'stateDelivered',
  read: 'stateRead',
  failed: 'stateFailed',
  cancelled: 'stateCancelled',
};

interface TurnProps {
  turn: Turn;
  /** The customer's name, when it is loaded. */
  name: string | undefined;
  /** It is the question of the notification that is open. */
  marked: boolean;
  /** It is the answer of that notification: more about it is below. */
  isAnswer: boolean;
  /** It comes right after what it replies to. */
  isNext: boolean;
  /** Absent if no message can quote it now. */
  quoteIn: number | undefined;
  /** Says more about the marked question. */
  children?: ReactNode;
}

export function TurnBubble({ turn, name, marked, isAnswer, isNext, quoteIn, children }: TurnProps) {
  const { t, clockTime, dateTime } = useTranslation();
  const { from, text, at, by, question, reply_to: replyTo, delivery } = turn;
  const speaker =
    from === 'customer' ? name : from === 'assistant' ? t('talkAssistant') : (by ?? t('talkShop'));
  return (
    <div
      className="turn"
      data-from={from}
      data-marked={marked || undefined}
      data-answer={isAnswer || undefined}
      id={`turn-${turn.id}`}
    >
      <div className="turn-bubble">
        {from !== 'customer' && <strong className="turn-by">{speaker}</strong>}
        {from === 'customer' && speaker && <span className="visually-hidden">{speaker}: </span>}
        {replyTo?.text && from === 'merchant' && !isNext && (
          <p className="turn-quote">
            <span className="visually-hidden">{t('talkQuoting')}: </span>
            <bdi>{replyTo.text}</bdi>
          </p>
        )}
        {marked ? <QuestionText text={text} /> : <p dir="auto">{text}</p>}
        <span className="turn-foot">
          {question && !marked && <QuestionState question={question} />}
          <time dateTime={at} title={dateTime(at)}>
            {clockTime(at)}
          </time>
          {delivery && <State delivery={delivery} withReason={!isAnswer} />}
        </span>
      </div>
      {quoteIn !== undefined && turn.can_quote && (
        <Tooltip label={t('talkQuote')}>
          <ActionIcon
            className="turn-action"
            variant="subtle"
            color="gray"
            size={44}
            aria-label={t('talkQuoteText', { text: text.slice(0, 60) })}
            onClick={() => setQuote(quoteIn, turn)}
          >
            <Icon name="undo" size={16} />
          </ActionIcon>
        </Tooltip>
      )}
      {marked && children}
      {delivery?.state === 'failed' && !isAnswer && (
        <SendAgainButton
          message={{ deliveryId: delivery.id }}
          code={delivery.code}
          about={text.slice(0, 60)}
          size="compact-sm"
          className="turn-again"
        />
      )}
    </div>
  );
}

function QuestionState({ question }: { question: NonNullable<Turn['question']> }) {
  const { t } = useTranslation();
  const { outcome } = question;
  return (
    <span className="turn-state" data-pending={outcome === null || undefined}>
      {t(outcome === 'answered' ? 'talkAnswered' : outcome === 'resolved' ? 'talkResolved' : 'talkPending')}
    </span>
  );
}

interface StateProps {
  delivery: NonNullable<Turn['delivery']>;
  withReason: boolean;
}

function State({ delivery, withReason }: StateProps) {
  const { t, duration } = useTranslation();
  const now = useNow();
  const { state, reason, undo_until: undoUntil } = delivery;
  const inMs = undoUntil === null ? 0 : Date.parse(undoUntil) - now;
  const label = inMs > 0 ? t('talkSendsIn', { time: duration(inMs / 1000) }) : t(STATES[state]);
  const isQuiet = state === 'sent' || state === 'delivered' || state === 'read';
  return (
    <>
      <Ticks state={state} />
      <span className={isQuiet ? 'visually-hidden' : 'turn-state'} data-state={state}>
        {label}
      </span>
      {withReason && reason !== null && !isQuiet && <span className="turn-reason">{reason}</span>}
    </>
  );
}
