import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { createDocument } from './documents/write.ts';

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
