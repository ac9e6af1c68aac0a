import { listTeam } from './auth/team/members.ts';
import { EXPORTED_CONVERSATIONS, EXPORTED_MESSAGES } from './conversations/export.ts';
import { EXPORTED_DELIVERIES } from './delivery/export.ts';
import { type ExportSection, sectionById } from './export/routes.ts';
import { EXPORTED_DOCUMENTS, EXPORTED_VERSIONS, EXPORTED_WORDINGS } from './knowledge/export.ts';
import { findMerchant } from './merchants/store.ts';
import { EXPORTED_NOTIFICATIONS } from './notifications/export.ts';

const notifications = sectionById('notification', EXPORTED_NOTIFICATIONS);

/** In the order of the documents. */
function ofDocuments(type: string, column: string, sql: string): ExportSection {
  return {
    type,
    read: (queries, merchantId, last, limit) =>
      queries.all(sql, [merchantId, Number(last?.document_id ?? 0), Number(last?.[column] ?? 0), limit]),
  };
}

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
  sectionById('conversation', EXPORTED_CONVERSATIONS),
  sectionById('message', EXPORTED_MESSAGES),
  {
    ...notifications,
    // They are stored as the JSON texts that were sent.
    read: async (...given) =>
      (await notifications.read(...given)).map(({ context, answer, ...row }) => ({
        ...row,
        context: JSON.parse(String(context)),
        answer: answer === null ? null : JSON.parse(String(answer)),
      })),
  },
  sectionById('delivery', EXPORTED_DELIVERIES),
  sectionById('document', EXPORTED_DOCUMENTS),
  ofDocuments('wording', 'id', EXPORTED_WORDINGS),
  ofDocuments('document_version', 'version', EXPORTED_VERSIONS),
];
