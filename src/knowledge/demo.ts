import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { insertRows } from '../database/insert.ts';
import { countKnown, noteUse } from './confidence/store.ts';
import { writeWordings } from './documents/wordings.ts';
import { changeDocument, createDocument } from './documents/write.ts';

interface DemoDocument {
  merchantId: number;
  daysAgo: number;
  title: string;
  body: string;
}

/** The knowledge of the demo's assistants, oldest first. */
const DEMO_DOCUMENTS: readonly DemoDocument[] = [
  {
    merchantId: 1,
    daysAgo: 30,
    title: 'Shipping times and costs',
    body: 'We roast on Mondays and Thursdays and ship the same day. Parcels take two to three working days in Spain and Portugal, five to seven elsewhere. Shipping is free from 35 €, else 4.90 €.',
  },
  {
    merchantId: 1,
    daysAgo: 24,
    title: 'How to store coffee beans',
    body: 'In the bag they came in, closed, in a dark and dry cupboard. Not in the fridge: beans take on smells. They are at their best from one to six weeks after roasting.',
  },
  {
    merchantId: 1,
    daysAgo: 17,
    title: 'Subscriptions: change, pause, cancel',
    body: 'A subscription comes every two or four weeks. Coffee, grind and date can be changed until the Sunday before roasting. It can be cancelled at any time; what has been roasted is still sent.',
  },
  {
    merchantId: 1,
    daysAgo: 9,
    title: 'Which grind for which maker?',
    body: 'Espresso machine: fine. Moka pot: medium-fine. Paper filter: medium. French press and cold brew: coarse. Choose the grind at checkout; whole beans keep longer.',
  },
  {
    merchantId: 2,
    daysAgo: 28,
    title: 'Opening hours',
    body: 'Monday to Friday from 10 to 19, Saturday from 11 to 17. Closed on Sundays and on public holidays.',
  },
  {
    merchantId: 2,
    daysAgo: 20,
    title: 'Returns and refunds',
    body: 'Books in the state they were sold in can be returned within 30 days with the receipt. The money goes back the way it came, within five working days. Damaged books are replaced at our cost.',
  },
  {
    merchantId: 2,
    daysAgo: 11,
    title: 'Ordering a book that is not in stock',
    body: 'Tell us title or ISBN. Icelandic and English titles arrive in three to ten days, others in two to four weeks. We write when the book is here and keep it for two weeks.',
  },
];

export async function insertDemoDocuments(tx: Queries, now: Date): Promise<void> {
  for (const { merchantId, daysAgo, title, body } of DEMO_DOCUMENTS) {
    const at = new Date(now.getTime() - daysAgo * 24 * 60 * 60_000);
    const origin = { what: 'import' as const, author: null, notificationId: null, at };
    await createDocument(tx, merchantId as MerchantId, { title, body }, origin);
  }
}

export interface DemoLesson {
  merchantId: number;
  title: string;
  body: string;
  wordings: readonly string[];
  notificationId: number;
  userId: number;
  daysAgo: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** A document that nobody has needed for a long time. */
const FORGOTTEN = {
  title: 'Christmas presents: order until when?',
  body: 'Orders until 18 December arrive before Christmas. We wrap them for free and add a card.',
  daysAgo: 190,
};
/** Known answers of the last days, of which some were judged. */
const KNOWN_DAYS = 20;

/** What the assistants learned over the weeks, who changed it, and what they answered by themselves. */
export async function insertDemoHistory(
  tx: Queries,
  now: Date,
  { topics, known }: { topics: readonly DemoLesson[]; known: { merchantId: number; perDay: number[] }[] },
): Promise<void> {
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS);
  const aurora = 1 as MerchantId;
  const { title, body, daysAgo } = FORGOTTEN;
  const imported = { what: 'import', author: null, notificationId: null } as const;
  await createDocument(tx, aurora, { title, body }, { ...imported, at: before(daysAgo) });
  const learned = new Map<number, { id: number; title: string; daysAgo: number }[]>();
  for (const lesson of topics.toSorted((a, b) => b.daysAgo - a.daysAgo)) {
    const merchantId = lesson.merchantId as MerchantId;
    const author = { userId: lesson.userId as UserId, keyId: null };
    const at = before(lesson.daysAgo);
    const origin = { what: 'answer', author, notificationId: lesson.notificationId, at } as const;
    const document = await createDocument(tx, merchantId, lesson, origin);
    const wordings = lesson.wordings.map((text) => ({ text, notificationId: null }));
    await writeWordings(tx, merchantId, [{ document, wordings }], {
      author,
      at: before(lesson.daysAgo - 0.5),
    });
    learned.set(merchantId, [...(learned.get(merchantId) ?? []), { ...lesson, id: document.id }]);
  }
  const alma = { userId: 1 as UserId, keyId: null };
  const edit = { what: 'edit', author: alma, notificationId: null, at: before(2.2) } as const;
  const more = (text: string) => `${text} To pause it, choose “Skip” in your account.`;
  await changeDocument(tx, aurora, 3, ({ title, body }) => ({ title, body: more(body) }), edit);
  for (const { merchantId, perDay } of known) {
    await insertKnown(tx, merchantId as MerchantId, perDay, learned.get(merchantId) ?? [], before);
  }
}

/** The newest as rows that people can judge, the older ones only as counts. */
async function insertKnown(
  tx: Queries,
  merchantId: MerchantId,
  perDay: readonly number[],
  documents: readonly { id: number; title: string; daysAgo: number }[],
  before: (days: number) => Date,
): Promise<void> {
  let n = 0;
  for (const [index, count] of perDay.entries()) {
    const daysAgo = perDay.length - 1 - index;
    const candidates = documents.filter((document) => document.daysAgo > daysAgo + 1);
    if (count === 0) continue;
    if (daysAgo >= KNOWN_DAYS || candidates.length === 0) {
      await tx.run(
        `insert into statistics_days (merchant_id, day, what, number, count) values ($1, $2, 'known', 0, $3)`,
        [merchantId, before(daysAgo).toISOString().slice(0, 10), count],
      );
      continue;
    }
    for (let each = 0; each < count; each += 1) {
      n += 1;
      const document = candidates[n % candidates.length]!;
      const answeredAt = before(daysAgo + each / 100);
      const at = answeredAt.toISOString();
      // Most are not judged. One document was wrong lately.
      const outcome = n % 9 === 0 ? (document === documents[0] ? 'wrong' : 'right') : null;
      const judged = { outcome, judged_by: outcome && 1, judged_at: outcome && at };
      const row = {
        ...{ merchant_id: merchantId, kind: 'known', question: document.title, document_id: document.id },
        ...{ score: 0.9 + (n % 10) / 100, ...judged, created_at: at },
        ...{ unjudged_since: outcome ? null : at, customer_key: '' },
      };
      await insertRows(tx, 'recognitions', [row]);
      await countKnown(tx, merchantId, answeredAt);
      await noteUse(tx, merchantId, document.id, answeredAt);
    }
  }
}
