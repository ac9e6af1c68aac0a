import type { PersonName } from '../auth/people.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { conversationNotFound, notificationNotFound } from '../errors.ts';
import { readDocument } from '../knowledge/documents/redact.ts';
import { noteExists } from '../notifications/ofCustomer.ts';
import { replaceMentions } from '../notifications/team/mentions.ts';
import type { Former } from '../notifications/team/rename.ts';
import type { Person } from './person/person.ts';
import { rewrite } from './rows.ts';

/** What the routes store for repeated requests, as far as it can have something of a person. */
interface Outcome {
  done?: {
    /** Of a conversation that was created or updated. */
    body?: { id?: number; customer_phone?: string; taken_over_by?: string | null };
    note?: { id: number; text: string; author: PersonName | null; mentions: PersonName[] };
    conversation_id?: number;
    asked?: {
      conversationId?: number | null;
      known?: { document_id: number; question: string; answer: string };
      takenOver?: { by: string | null } | null;
    };
  };
}

const RESPONSES = { name: 'idempotency_keys', key: 'key' };
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
  return rewrite(database, merchantId, RESPONSES, 'outcome', change, pause);
  async function change(text: string): Promise<string> {
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
  }
}

/** Replaces the name of somebody who was deleted. A customer may have the same one. */
export function renameInResponses(
  database: Database,
  merchantId: MerchantId,
  { userId, name, to, isUnique }: Former,
  pause: () => Promise<void>,
): Promise<void> {
  return rewrite(database, merchantId, RESPONSES, 'outcome', change, pause);
  function change(text: string): string {
    const outcome = JSON.parse(text) as Outcome;
    const { body, asked, note } = outcome.done ?? {};
    if (isUnique && body?.taken_over_by === name) body.taken_over_by = to;
    if (isUnique && asked?.takenOver?.by === name) asked.takenOver.by = to;
    if (note) {
      const isMentioned = note.mentions.some(({ id }) => id === userId);
      if (isMentioned || isUnique)
        note.text = replaceMentions(note.text, { name, to, firstNameToo: isMentioned });
      for (const person of [note.author, ...note.mentions]) if (person?.id === userId) person.name = to;
    }
    const renamed = JSON.stringify(outcome);
    return renamed === JSON.stringify(JSON.parse(text)) ? text : renamed;
  }
}
