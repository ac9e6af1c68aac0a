import { EXPORTED_AUDIT_EVENTS } from './audit/export.ts';
import { EXPORTED_KEYS } from './auth/machineKeys/export.ts';
import { listTeam } from './auth/team/members.ts';
import {
  EXPORTED_CONVERSATIONS,
  EXPORTED_MESSAGES,
  EXPORTED_SAVED_REPLIES,
  EXPORTED_WRONG_PHONES,
} from './conversations/export.ts';
import { EXPORTED_DELIVERIES, EXPORTED_DELIVERY_EVENTS } from './delivery/export.ts';
import { type ExportSection, sectionById, withJson } from './export/sections.ts';
import {
  EXPORTED_DOCUMENTS,
  EXPORTED_RECOGNITIONS,
  EXPORTED_REMOVALS,
  EXPORTED_VERSIONS,
  EXPORTED_WORDINGS,
} from './knowledge/export.ts';
import { findMerchant } from './merchants/store.ts';
import { EXPORTED_ASKS, EXPORTED_NOTES, EXPORTED_NOTIFICATIONS } from './notifications/export.ts';

/** Rows of a parent, in the order of the parents. */
function sectionOf(type: string, parent: string, column: string, sql: string): ExportSection {
  return {
    type,
    read: (queries, merchantId, last, limit) =>
      queries.all(sql, [merchantId, Number(last?.[parent] ?? 0), Number(last?.[column] ?? 0), limit]),
  };
}

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
