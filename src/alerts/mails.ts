import { findPerson } from '../auth/people.ts';
import type { OwnQuietHours } from '../contract/alerts.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import { CHANGES, type Database, type Queries, type Transaction } from '../database/database.ts';
import { countNoticed } from '../delivery/queue/noticed.ts';
import type { Job, JobKey } from '../jobs/job.ts';
import { countPending } from '../notifications/brief.ts';
import { mailTexts } from './mailTexts.ts';
import { lastLooked } from './positions.ts';
import { type Period, quietUntil } from './quietHours.ts';

/** E-mails to people when a question waits, or a message needs attention, and nobody looks. */

interface AlertMail {
  to: string;
  subject: string;
  text: string;
  at: Date;
}

export interface MailParts {
  /** Adds a mail in the transaction. Absent if this server sends none. */
  write: ((tx: Transaction, merchantId: MerchantId, mail: AlertMail) => Promise<unknown>) | undefined;
  /** After the commit. */
  announce: () => void;
  /** The address of the inbox. */
  publicUrl: string | undefined;
  shopOf: (merchantId: MerchantId) => Promise<{ name: string; language: string | null } | undefined>;
  quietHoursOf: (merchantId: MerchantId) => Promise<Period | undefined>;
}

const MINUTE_MS = 60_000;
const AT_ONCE = 50;

/**
 * Something has happened: look whether a mail is needed. When that is, `checkMail` decides. If it is deciding just now, it
 * may not have seen this: with another time it finds its row changed, and looks again.
 */
export async function makeMailsDue(tx: Queries, merchantId: MerchantId, at: Date): Promise<void> {
  await tx.run(
    `update alert_settings set mail_due_at = $2
      where merchant_id = $1 and email_after_minutes is not null and (mail_due_at is null or mail_due_at < $2)`,
    [merchantId, at.toISOString()],
  );
}

interface Due {
  merchant_id: MerchantId;
  user_id: UserId;
  mail_due_at: string;
  mailed_at: string | null;
  email_after_minutes: number;
  quiet_hours: string;
}

/** Writes the mails to people that are due. */
export const writeDueMails = (database: Database, mails: MailParts): Job => ({
  name: 'alert mails',
  purpose: 'write an alert mail',
  everyMs: 2000,
  wakes: [CHANGES],
  gatherMs: 20,
  async due({ at, after }) {
    // Those that were looked at are no longer found.
    if (after) return [];
    return database.all<JobKey>(
      `select merchant_id, user_id from alert_settings
        where mail_due_at is not null and mail_due_at <= $1 order by mail_due_at limit ${AT_ONCE}`,
      [at.toISOString()],
    );
  },
  async run({ merchant_id, user_id }, { at, failed }) {
    const due = await database.one<Due>(
      `select merchant_id, user_id, mail_due_at, mailed_at, email_after_minutes, quiet_hours from alert_settings
        where merchant_id = $1 and user_id = $2 and mail_due_at <= $3`,
      [merchant_id, user_id!, at.toISOString()],
    );
    if (!due) return 'done';
    try {
      await checkMail(database, mails, due, at);
    } catch (err) {
      await putOff(database, due, at);
      failed(err, { merchant_id });
    }
    return 'more';
  },
});

/** Otherwise those that fail would be the only ones that are looked at. */
async function putOff(database: Database, due: Due, at: Date): Promise<void> {
  const later = new Date(at.getTime() + MINUTE_MS).toISOString();
  await database.run(
    'update alert_settings set mail_due_at = $4 where merchant_id = $1 and user_id = $2 and mail_due_at = $3',
    [due.merchant_id, due.user_id, due.mail_due_at, later],
  );
}

/** At most one mail for a person within the minutes of their setting, and only about what nobody has seen. */
async function checkMail(database: Database, mails: MailParts, due: Due, at: Date): Promise<void> {
  const { merchant_id: merchantId, user_id: userId } = due;
  const lastSeen = [(await lastLooked(database, merchantId)) ?? '', due.mailed_at ?? ''].sort()[1]!;
  const questions = await countPending(database, merchantId, lastSeen);
  const messages = await countNoticed(database, merchantId, lastSeen);
  const [first = null] = [questions.first, messages.first].filter((at) => at !== null).sort();
  const person = await findPerson(database, merchantId, userId);
  const shop = await mails.shopOf(merchantId);
  const next = await nextLook(mails, due, {
    first,
    isPossible: mails.write !== undefined && person !== undefined,
    at,
  });
  let isWritten = false;
  await database.transaction(async (tx) => {
    isWritten = false;
    const isMailed = next === 'now';
    // Of several workers one gets here.
    const rows = await tx.run(
      `update alert_settings set mail_due_at = $4, mailed_at = coalesce($5, mailed_at)
        where merchant_id = $1 and user_id = $2 and mail_due_at = $3 returning user_id`,
      [
        ...[merchantId, userId, due.mail_due_at],
        isMailed ? null : (next?.toISOString() ?? null),
        isMailed ? at.toISOString() : null,
      ],
    );
    if (rows.length === 0 || !isMailed) return;
    const texts = mailTexts(shop?.language ?? null, {
      questions: questions.first === null ? 0 : questions.count,
      messages: messages.count,
      ...{ minutes: due.email_after_minutes, shop: shop?.name ?? '', url: `${mails.publicUrl}/inbox` },
    });
    await mails.write!(tx, merchantId, { to: person!.email, ...texts, at });
    isWritten = true;
  });
  if (isWritten) mails.announce();
}

/** When to look again: now means that it is time, undefined that there is nothing to wait for. */
async function nextLook(
  { quietHoursOf }: MailParts,
  due: Due,
  { first, isPossible, at }: { first: string | null; isPossible: boolean; at: Date },
): Promise<'now' | Date | undefined> {
  if (first === null || !isPossible) return undefined;
  const sinceMs = Math.max(Date.parse(first), Date.parse(due.mailed_at ?? first));
  const readyAt = new Date(sinceMs + due.email_after_minutes * MINUTE_MS);
  if (readyAt > at) return readyAt;
  const own = JSON.parse(due.quiet_hours) as OwnQuietHours | 'shop' | null;
  const period = own === 'shop' ? await quietHoursOf(due.merchant_id) : own;
  return (period && quietUntil(period, at)) ?? 'now';
}
