import type { SendResult } from '../channel.ts';

/**
 * What each error of the Cloud API means for a message, whether it came in the response or in a status.
 * A new code is one entry in the table.
 */

type Rule = (code: string, attempts: number) => SendResult;
type Codes = readonly (number | readonly [from: number, to: number])[];

const FEW_ATTEMPTS = 4;
const DAYS_MAX = 16;
const PAIR_WAIT_MAX_SECONDS = 3600;

const again: Rule = (code) => ({ outcome: 'retry', code });
const aFewTimes: Rule = (code) => ({ outcome: 'retry', code, attemptsMax: FEW_ATTEMPTS });
/** Too many messages to this customer: wait 4^n seconds. */
const afterPause: Rule = (code, attempts) => ({
  outcome: 'retry',
  code,
  afterSeconds: Math.min(4 ** Math.max(1, attempts), PAIR_WAIT_MAX_SECONDS),
});
const useTemplate: Rule = (code) => ({ outcome: 'window_closed', code });
const tomorrow: Rule = (code, attempts) =>
  attempts < DAYS_MAX
    ? {
        outcome: 'wait_a_day',
        code,
        reason: 'WhatsApp holds back further messages to this customer for now. We will retry in a day.',
      }
    : { outcome: 'failed', code, reason: 'WhatsApp held the message back for too many days.' };
const failed =
  (reason: string): Rule =>
  (code) => ({ outcome: 'failed', code, reason });
/** The option of the setting that is to blame is for the merchant who sets the channel up. */
const stop =
  (reason: string, option?: 'token'): Rule =>
  (code) => ({ outcome: 'channel_stopped', code, reason, ...(option && { option }) });

const TABLE: readonly (readonly [Codes, Rule])[] = [
  [[4, 80007, 130429, 131016, 131057], again],
  [[131000], aFewTimes],
  [[131056], afterPause],
  [[131047], useTemplate],
  [[131049], tomorrow],
  [[100, 131008, 131009], failed('WhatsApp does not accept the message in this form.')],
  [
    [131026],
    failed('WhatsApp cannot deliver to this number. It may not be on WhatsApp, or its app is too old.'),
  ],
  [[131050], failed('The customer does not want marketing messages.')],
  [[131051], failed('WhatsApp does not accept this kind of message.')],
  [[132000], failed('The template has the wrong number of parameters. It must have exactly one.')],
  [[132001], failed('The template does not exist in this language, or WhatsApp has not approved it.')],
  [
    [132012],
    failed('The template’s parameter is not a text. It must have one text parameter, for the answer.'),
  ],
  [[132015], failed('WhatsApp has paused the template because of its quality.')],
  [[132016], failed('WhatsApp has disabled the template permanently. Set up another one.')],
  [[190], stop('The access token has expired or is not valid.', 'token')],
  [
    [3, 10, [200, 299], 131005],
    stop('The access token lacks the permission to send from this number.', 'token'),
  ],
  [[368, 131031], stop('WhatsApp has restricted or locked the account. See the account’s page at Meta.')],
  [[131042], stop('The account has a payment problem at Meta.')],
  [[131048], stop('Too many messages from this number were blocked or reported as spam.')],
];

/** For errors without a code in the table, by the response's status. */
const BY_STATUS: readonly (readonly [from: number, to: number, Rule])[] = [
  [401, 401, stop('The access token was refused.', 'token')],
  [429, 429, again],
  // Redirects are not followed: they would send the token to another server.
  [300, 399, again],
  [500, 599, again],
];

const REFUSED = failed('WhatsApp refused the message.');

export function classify(
  code: number | undefined,
  httpStatus: number | undefined,
  attempts: number,
): SendResult {
  const rule = code === undefined ? undefined : TABLE.find(([codes]) => includes(codes, code))?.[1];
  if (rule) return rule(String(code), attempts);
  const byStatus = BY_STATUS.find(([from, to]) => httpStatus && httpStatus >= from && httpStatus <= to)?.[2];
  const name = code !== undefined ? String(code) : httpStatus ? `HTTP_${httpStatus}` : 'NO_CODE';
  return (byStatus ?? REFUSED)(name, attempts);
}

const includes = (codes: Codes, code: number) =>
  codes.some((entry) => (typeof entry === 'number' ? entry === code : code >= entry[0] && code <= entry[1]));
