import type { MerchantId } from '../../contract/ids.ts';
import type { Database } from '../../database/database.ts';
import { ownIdIn } from '../../database/ids.ts';
import { pagesOf } from '../../database/pages.ts';
import { customerKey } from './store.ts';

const ERASED = '…';

interface Recognition {
  id: number;
  question: string | null;
  key: string | null;
  of: number | null;
}

/** What the assistant answered by itself: that it did, and whether it was right, still counts. */
export async function redactRecognitions(
  database: Database,
  merchantId: MerchantId,
  person: Record<'phones' | 'references', string[]> & { conversationIds: number[] },
  redact: (text: string) => string,
  pause: () => Promise<void>,
): Promise<void> {
  const own = new Set<number | null>(person.conversationIds);
  const customers = [...person.phones, ...person.references];
  const keys = new Set<string | null>(customers.map((customer) => customerKey(merchantId, customer)));
  const columns = 'id, question, customer_key as key, conversation_id as of';
  const recognitions = { name: 'recognitions' };
  for await (const page of pagesOf<Recognition>(database, recognitions, merchantId, columns)) {
    const theirs: number[] = [];
    for (const { id, question, key, of } of page) {
      // An earlier version did not note who asked: it may have been this person.
      const isUnknown = key === null && of === null;
      const isOpen = question !== null && question !== ERASED;
      const without = isOpen ? redact(question) : question;
      if (own.has(of) || (isOpen && (isUnknown || keys.has(key) || without === ERASED))) theirs.push(id);
      else if (without !== question)
        await database.run('update recognitions set question = $3 where merchant_id = $1 and id = $2', [
          ...[merchantId, id, without],
        ]);
      await pause();
    }
    if (theirs.length > 0)
      await database.run(
        `update recognitions set question = $3, conversation_id = null, customer_key = ''
          where ${ownIdIn(database, '$1', '$2')}`,
        [merchantId, theirs, ERASED],
      );
  }
}
