import { AUDIT_EVENTS_OF_USER, EXPORTED_AUDIT_EVENTS } from './audit/export.ts';
import { EXPORTED_KEYS } from './auth/machineKeys/export.ts';
import { SESSIONS_OF_USER } from './auth/sessions/export.ts';
import { listTeam } from './auth/team/members.ts';
import {
  CONVERSATION,
  EXPORTED_CONVERSATIONS,
  EXPORTED_MESSAGES,
  EXPORTED_SAVED_REPLIES,
  EXPORTED_WRONG_PHONES,
  MESSAGES_OF_CONVERSATION,
} from './conversations/export.ts';
import {
  DELIVERIES_OF_CONVERSATION,
  DELIVERY_EVENTS_OF_CONVERSATION,
  EXPORTED_DELIVERIES,
  EXPORTED_DELIVERY_EVENTS,
} from './delivery/export.ts';
import { type ExportSection, sectionById } from './export/sections.ts';
import {
  EXPORTED_DOCUMENTS,
  EXPORTED_RECOGNITIONS,
  EXPORTED_REMOVALS,
  EXPORTED_VERSIONS,
  EXPORTED_WORDINGS,
} from './knowledge/export.ts';
import { findMerchant } from './merchants/store.ts';
import {
  ASKS_OF_CONVERSATION,
  EXPORTED_ASKS,
  EXPORTED_NOTES,
  EXPORTED_NOTIFICATIONS,
  NOTES_OF_CONVERSATION,
  NOTES_OF_USER,
  NOTIFICATIONS_OF_CONVERSATION,
} from './notifications/export.ts';

/** Rows of a parent, in the order of the parents. */
function sectionOf(type: string, parent: string, column: string, sql: string): ExportSection {
  return {
    type,
    read: (queries, merchantId, last, limit) =>
      queries.all(sql, [merchantId, Number(last?.[parent] ?? 0), Number(last?.[column] ?? 0), limit]),
  };
}

/** These columns are stored as JSON texts. */
const withJson = (section: ExportSection, columns: readonly string[]): ExportSection => ({
  ...section,
  read: async (...given) =>
    (await section.read(...given)).map((row) => ({
      ...row,
      ...Object.fromEntries(
        columns.map((name) => [name, row[name] === null ? null : JSON.parse(String(row[name]))]),
      ),
    })),
});

const auditEvents: ExportSection = {
  type: 'audit_event',
  read: (queries, merchantId, last, limit) =>
    queries.all(EXPORTED_AUDIT_EVENTS, [merchantId, String(last?.at ?? ''), Number(last?.id ?? 0), limit]),
};

const wrongPhones: ExportSection = {
  type: 'wrong_phone',
  read: (queries, merchantId, last, limit) =>
    queries.all(EXPORTED_WRONG_PHONES, [
      ...[merchantId, Number(last?.conversation_id ?? 0), String(last?.phone ?? ''), limit],
    ]),
};

/** What an export contains, in this order. A new part of a merchant's data is an entry here. */
export const EXPORT_SECTIONS: readonly ExportSection[] = [
  {
    type: 'merchant',
    async read(queries, merchantId, last) {
      const merchant = last === undefined ? await findMerchant(queries, merchantId) : undefined;
      return merchant ? [{ ...merchant }] : [];
    },
  },
  {
    type: 'user',
    read: async (queries, merchantId, last) => (last === undefined ? listTeam(queries, merchantId) : []),
  },
  sectionById('key', EXPORTED_KEYS),
  sectionById('saved_reply', EXPORTED_SAVED_REPLIES),
  sectionById('conversation', EXPORTED_CONVERSATIONS),
  wrongPhones,
  sectionById('message', EXPORTED_MESSAGES),
  withJson(sectionById('notification', EXPORTED_NOTIFICATIONS), ['context', 'answer']),
  withJson(sectionById('ask', EXPORTED_ASKS), ['metadata']),
  withJson(sectionById('note', EXPORTED_NOTES), ['mentions']),
  sectionById('delivery', EXPORTED_DELIVERIES),
  sectionOf('delivery_event', 'delivery_id', 'id', EXPORTED_DELIVERY_EVENTS),
  sectionById('document', EXPORTED_DOCUMENTS),
  sectionOf('wording', 'document_id', 'id', EXPORTED_WORDINGS),
  sectionOf('document_version', 'document_id', 'version', EXPORTED_VERSIONS),
  sectionById('document_removal', EXPORTED_REMOVALS),
  sectionById('recognition', EXPORTED_RECOGNITIONS),
  withJson(auditEvents, ['about']),
];

/** The merchant is $1, the last id $2, the limit $3: with the conversation as $4. */
const sectionIn = (type: string, sql: string, conversationId: number): ExportSection => ({
  type,
  read: (queries, merchantId, last, limit) =>
    queries.all(sql, [merchantId, Number(last?.id ?? 0), limit, conversationId]),
});

/** What an export of a customer contains, of each of their conversations. */
export const customerSections = (conversationIds: readonly number[]): ExportSection[] =>
  conversationIds.flatMap((id) => [
    sectionIn('conversation', CONVERSATION, id),
    sectionIn('message', MESSAGES_OF_CONVERSATION, id),
    withJson(sectionIn('notification', NOTIFICATIONS_OF_CONVERSATION, id), ['context', 'answer']),
    withJson(sectionIn('ask', ASKS_OF_CONVERSATION, id), ['metadata']),
    withJson(sectionIn('note', NOTES_OF_CONVERSATION, id), ['mentions']),
    sectionIn('delivery', DELIVERIES_OF_CONVERSATION, id),
    sectionIn('delivery_event', DELIVERY_EVENTS_OF_CONVERSATION, id),
  ]);

/** What an export of a colleague contains. */
export const colleagueSections = (userId: number): ExportSection[] => [
  {
    type: 'user',
    read: async (queries, merchantId, last) =>
      last === undefined
        ? (await listTeam(queries, merchantId)).filter(({ id }) => id === userId).map((user) => ({ ...user }))
        : [],
  },
  {
    type: 'session',
    read: (queries, _merchantId, last, limit) =>
      queries.all(SESSIONS_OF_USER, [userId, String(last?.id ?? ''), limit]),
  },
  withJson(sectionIn('note', NOTES_OF_USER, userId), ['mentions']),
  withJson(sectionIn('audit_event', AUDIT_EVENTS_OF_USER, userId), ['about']),
];
