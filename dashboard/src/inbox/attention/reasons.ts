import type { Attention, AttentionCode } from '../../../../src/contract/inbox.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { Translation } from '../../i18n/translation.tsx';

/** Why a message did not reach the customer, in the user's language. */
const REASONS: Record<AttentionCode, TextKey> = {
  bad_number: 'reasonBadNumber',
  cannot_receive: 'reasonCannotReceive',
  opted_out: 'reasonOptedOut',
  window_closed: 'reasonWindowClosed',
  template: 'reasonTemplate',
  not_accepted: 'reasonNotAccepted',
  held_back: 'reasonHeldBack',
  unknown_if_sent: 'reasonUnknownIfSent',
  gave_up: 'reasonGaveUp',
  channel_stopped: 'reasonChannelStopped',
  channel_not_answering: 'reasonChannelNotAnswering',
  daily_limit: 'reasonDailyLimit',
  customer_must_write: 'reasonCustomerMustWrite',
  earlier_message: 'reasonEarlierMessage',
  retrying: 'reasonRetrying',
  not_sent_yet: 'reasonNotSentYet',
  number_fixed: 'reasonNumberFixed',
};

/** A newer server may have other codes: then its English words are shown. */
export const reasonOf = ({ t }: Translation, { code, reason }: Attention): string =>
  code in REASONS ? t(REASONS[code]) : (reason ?? '');

export const ATTENTION_TITLES: Record<Attention['kind'], TextKey> = {
  failed: 'attentionFailed',
  stopped: 'attentionStopped',
  waiting: 'attentionWaiting',
};

/** The others are sent by themselves. A wrong number has to be fixed first. */
export const canSendAgain = ({ kind, code }: Attention): boolean =>
  kind === 'failed' && code !== 'bad_number';

const ABOUT_THE_NUMBER: ReadonlySet<AttentionCode> = new Set([
  'bad_number',
  'cannot_receive',
  'not_accepted',
]);
export const canFixNumber = ({ kind, code }: Attention): boolean =>
  kind === 'failed' && ABOUT_THE_NUMBER.has(code);
