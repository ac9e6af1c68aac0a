import { ALERT_DEVICES_OF_USER, ALERT_SETTINGS_OF_USER } from './alerts/export.ts';
import { AUDIT_EVENTS_OF_USER } from './audit/export.ts';
import { AUTHENTICATOR_OF_USER, INVITES_OF_USER, PASSKEYS_OF_USER, USER } from './auth/export.ts';
import { SESSIONS_OF_USER } from './auth/sessions/export.ts';
import type { MerchantId } from './contract/ids.ts';
import {
  CONVERSATION,
  findPhones,
  MESSAGES_OF_CONVERSATION,
  WRONG_PHONES_OF_CONVERSATION,
} from './conversations/export.ts';
import type { Queries } from './database/database.ts';
import {
  DELIVERIES_OF_CONVERSATION,
  DELIVERY_EVENTS_OF_CONVERSATION,
  findReached,
  REACHED,
  TEST_PHONE,
  WINDOW,
} from './delivery/export.ts';
import { phoneOrText } from './delivery/phone.ts';
import { type ExportSection, withJson } from './export/sections.ts';
import {
  RECOGNITIONS_OF_USER,
  REMOVALS_OF_USER,
  recognitionsAbout,
  VERSIONS_OF_USER,
  versionsFrom,
  WORDINGS_OF_USER,
  wordingsFrom,
} from './knowledge/export.ts';
import {
  ANSWERS_OF_USER,
  ASKS_OF_CONVERSATION,
  isInConversation,
  NOTES_OF_CONVERSATION,
  NOTES_OF_USER,
  NOTIFICATIONS_OF_CONVERSATION,
} from './notifications/export.ts';

/** What an export of one person contains: a customer, or somebody who works for a merchant. */

/** The merchant is $1, the last id $2, the limit $3, and whose rows it has $4. */
const ofOne = (type: string, sql: string, whose: number | string): ExportSection => ({
  type,
  read: (queries, merchantId, last, limit) =>
    queries.all(sql, [merchantId, Number(last?.id ?? 0), limit, whose]),
});

/** Versions have no id: the last document is $2 and its version $3, the limit $4, and whose rows it has $5. */
const versionsOfOne = (sql: string, whose: number): ExportSection => ({
  type: 'document_version',
  read: (queries, merchantId, last, limit) =>
    queries.all(sql, [merchantId, Number(last?.document_id ?? 0), Number(last?.version ?? 0), limit, whose]),
});

/** One row, or a few. */
const few = (type: string, sql: string, params: (merchantId: MerchantId) => (number | string)[]) => ({
  type,
  read: async (...[queries, merchantId, last]: Parameters<ExportSection['read']>) =>
    last === undefined ? await queries.all<Record<string, unknown>>(sql, params(merchantId)) : [],
});

/** Everything about a customer, who has these conversations. */
export async function customerSections(
  queries: Queries,
  merchantId: MerchantId,
  conversationIds: readonly number[],
): Promise<ExportSection[]> {
  const reached = await findReached(queries, merchantId, conversationIds);
  const phones = await findPhones(queries, merchantId, conversationIds, reached.phones);
  return [
    ...conversationIds.flatMap(sectionsOfConversation),
    ...[...new Set(phones.map((phone) => phoneOrText(phone)))].flatMap((phone) => [
      ofOne('test_phone_message', TEST_PHONE, phone),
      few('reached', REACHED, (id) => [id, phone]),
      ...reached.channelIds.map((channelId) => few('wrote_last', WINDOW, () => [channelId, phone])),
    ]),
  ];
}

function sectionsOfConversation(id: number): ExportSection[] {
  const isTheirs = (notification: string) => isInConversation('$1', notification, '$4');
  return [
    ofOne('conversation', CONVERSATION, id),
    {
      type: 'wrong_phone',
      read: (queries, merchantId, last, limit) =>
        queries.all(WRONG_PHONES_OF_CONVERSATION, [merchantId, String(last?.phone ?? ''), limit, id]),
    },
    ofOne('message', MESSAGES_OF_CONVERSATION, id),
    withJson(ofOne('notification', NOTIFICATIONS_OF_CONVERSATION, id), ['context', 'answer']),
    withJson(ofOne('ask', ASKS_OF_CONVERSATION, id), ['metadata']),
    withJson(ofOne('note', NOTES_OF_CONVERSATION, id), ['mentions']),
    ofOne('delivery', DELIVERIES_OF_CONVERSATION, id),
    ofOne('delivery_event', DELIVERY_EVENTS_OF_CONVERSATION, id),
    ofOne('recognition', recognitionsAbout(isTheirs), id),
    ofOne('wording', wordingsFrom(isTheirs), id),
    versionsOfOne(
      versionsFrom((notification) => isInConversation('$1', notification, '$5')),
      id,
    ),
  ];
}

/** Everything about somebody who works for a merchant, or about an operator. */
export const userSections = (id: number): ExportSection[] => [
  few('user', USER, () => [id]),
  {
    type: 'session',
    read: (queries, _merchantId, last, limit) =>
      queries.all(SESSIONS_OF_USER, [id, String(last?.id ?? ''), limit]),
  },
  few('authenticator', AUTHENTICATOR_OF_USER, () => [id]),
  few('passkey', PASSKEYS_OF_USER, () => [id]),
  withJson(
    few('alert_settings', ALERT_SETTINGS_OF_USER, (merchantId) => [merchantId, id]),
    ['quiet_hours'],
  ),
  ofOne('alert_device', ALERT_DEVICES_OF_USER, id),
  ofOne('invite', INVITES_OF_USER, id),
  withJson(ofOne('answer', ANSWERS_OF_USER, id), ['answer']),
  withJson(ofOne('note', NOTES_OF_USER, id), ['mentions']),
  versionsOfOne(VERSIONS_OF_USER, id),
  ofOne('wording', WORDINGS_OF_USER, id),
  ofOne('document_removal', REMOVALS_OF_USER, id),
  ofOne('recognition', RECOGNITIONS_OF_USER, id),
  withJson(ofOne('audit_event', AUDIT_EVENTS_OF_USER, id), ['about']),
];
