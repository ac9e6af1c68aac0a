import type { Database } from '../src/database/database.ts';
import { wordColumns } from '../src/knowledge/documents/columns.ts';
import { answerSchemaId, KINDS } from '../src/notifications/kinds.ts';
import { COLUMNS, fill, QUESTIONS } from './data.ts';

/** Many small merchants. The merchant of a row is the remainder of its id, as in data.ts. */
export const PER_MERCHANT = { conversations: 5, notifications: 10, documents: 5 };

const MERCHANTS_AT_ONCE = 200;

const DOCUMENTS = [
  { title: 'Shipping', body: 'We ship to all of Spain within two days. Islands take four days.' },
  { title: 'Returns', body: 'You can return a bag that is not open within 30 days.' },
  { title: 'Grinding', body: 'We grind beans for a moka pot, a filter or an espresso machine.' },
  { title: 'Subscription', body: 'Pause or end it at any time in your account.' },
  { title: 'Opening hours', body: 'The shop is open from Monday to Saturday, from 9 to 20.' },
];

export async function fillMerchants(
  database: Database,
  merchants: number,
  passwordHash: string,
): Promise<void> {
  const { email, phone, at } = COLUMNS;
  const merchant = `1 + (i - 1) % ${merchants}`;
  const conversations = merchants * PER_MERCHANT.conversations;
  const question = KINDS.user_question_request;
  const choose = (texts: readonly string[]) =>
    `case (i / ${merchants}) % ${texts.length} ${texts.map((text, n) => `when ${n} then '${text}'`).join(' ')} end`;
  await fill(database, 'merchants', merchants, { name: `concat('Shop ', i)`, created_at: at });
  await fill(
    database,
    'users',
    merchants,
    {
      ...{ merchant_id: 'i', email, email_key: email, name: `concat('Owner ', i)`, role: `'user'` },
      ...{ password_hash: '$3', created_at: at },
    },
    [passwordHash],
  );
  await fill(database, 'conversations', conversations, {
    ...{ merchant_id: merchant, reference: `concat('ticket-', i)`, customer_name: `concat('Customer ', i)` },
    ...{ customer_phone: phone, created_at: at, updated_at: at },
  });
  await fill(database, 'notifications', merchants * PER_MERCHANT.notifications, {
    ...{
      merchant_id: merchant,
      conversation_id: `1 + (i - 1) % ${conversations}`,
      created_at: at,
      updated_at: at,
    },
    ...{ notification_type: `'user_question_request'`, status: `'requested'` },
    context: `concat('{"question":"', ${choose(QUESTIONS)}, '"}')`,
    requested_fields: `'${JSON.stringify(question.requestedFields)}'`,
    answered_fields: `'${JSON.stringify(question.answeredFields)}'`,
    answer_schema_id: `'${answerSchemaId(question)}'`,
  });
  const words = DOCUMENTS.map((document) => wordColumns(document));
  await fill(database, 'documents', merchants * PER_MERCHANT.documents, {
    ...{ merchant_id: merchant, created_at: at, updated_at: at },
    title: choose(DOCUMENTS.map(({ title }) => title)),
    body: choose(DOCUMENTS.map(({ body }) => body)),
    title_words: choose(words.map(([title]) => title)),
    words: choose(words.map(([, stems]) => stems)),
    word_forms: choose(words.map(([, , forms]) => forms)),
  });
  for (let first = 1; first <= merchants; first += MERCHANTS_AT_ONCE)
    await database.run(
      `insert into document_versions (merchant_id, document_id, version, title, body, what, created_at)
        select merchant_id, id, version, title, body, 'import', created_at from documents
          where merchant_id between $1 and $2`,
      [first, first + MERCHANTS_AT_ONCE - 1],
    );
  // Otherwise the index of the inbox would be made while we measure.
  await database.run('delete from inbox_changes');
}
