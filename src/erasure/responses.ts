import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { conversationNotFound, notificationNotFound } from '../errors.ts';
import { readDocument } from '../knowledge/erase.ts';
import { noteExists, rewriteResponses } from '../notifications/erase.ts';
import type { Person } from './person/person.ts';

/** What the routes store for repeated requests, as far as it can have something of a person. */
interface Outcome {
  done?: {
    /** Of a conversation that was created or updated. */
    body?: { id?: number; customer_phone?: string };
    note?: { id: number };
    conversation_id?: number;
    asked?: {
      conversationId?: number | null;
      known?: { document_id: number; question: string; answer: string };
    };
  };
}

const CONVERSATION_GONE = JSON.stringify({ refused: conversationNotFound().body() });
const NOTIFICATION_GONE = JSON.stringify({ refused: notificationNotFound().body() });

/**
 * Takes the person out of stored responses. Each key stays for its time, so a repeated request never acts again: one of
 * the person's own is refused, because what it wrote is gone, and others get their first result.
 */
export function eraseResponses(
  database: Database,
  merchantId: MerchantId,
  { person: { conversationIds }, changed }: { person: Person; changed: ReadonlySet<number> },
  pause: () => Promise<void>,
): Promise<void> {
  const own = new Set<unknown>(conversationIds);
  return rewriteResponses(database, merchantId, pause, async (text) => {
    const outcome = JSON.parse(text) as Outcome;
    const { body, note, conversation_id, asked } = outcome.done ?? {};
    if (body?.customer_phone !== undefined && own.has(body.id)) return CONVERSATION_GONE;
    if (own.has(asked?.conversationId)) return CONVERSATION_GONE;
    if (own.has(conversation_id)) return NOTIFICATION_GONE;
    // An earlier version did not store whose note it is.
    if (note && conversation_id === undefined && !(await noteExists(database, merchantId, note.id)))
      return NOTIFICATION_GONE;
    const known = asked?.known;
    if (!known || !changed.has(known.document_id)) return text;
    // Another customer's, answered by a document that has changed.
    const document = await readDocument(database, merchantId, known.document_id);
    known.question = document?.title ?? '…';
    if (document) known.answer = document.body;
    return JSON.stringify(outcome);
  });
}
