import type { Logger } from 'pino';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import { createHoldCheck } from '../database/sendingHold.ts';
import type { Job, JobKey } from '../jobs/job.ts';
import type { Vault } from '../secrets.ts';
import { ATTEMPT_MAX_MS, type Mailer } from './mailer.ts';
import {
  type ClaimedMail,
  claimMail,
  dueMails,
  finishMail,
  MAILS,
  type MailKind,
  retryMail,
  unseal,
} from './queue.ts';

/** Instead of sending: finishes it, and enqueues what becomes of it, in one transaction. */
type Expand = (mail: ClaimedMail, to: string) => Promise<void>;

interface MailSenderParts {
  database: Database;
  vault: Vault;
  mailer: Mailer;
  /** Kinds that are not sent as they are. */
  expand: Partial<Record<MailKind, Expand>>;
  log: Logger;
  now: () => Date;
}

/** How many due mails one look sees. Of these, every shop gets its turn. */
const SEEN_MAX = 500;
const LEASE_MS = 2 * ATTEMPT_MAX_MS;
/** For about a day and a half. */
export const PAUSES_SECONDS = [30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 57_600];

/**
 * Sends what is due, in any number of processes. A crash after the server has accepted a mail and before we have written
 * it down sends it again when the lease ends, with the same Message-ID, so that mail programs show it once.
 */
export function sendMails({ database, vault, mailer, expand, log, now }: MailSenderParts): Job {
  const isHeld = createHoldCheck(database);

  async function attempt(mail: ClaimedMail): Promise<void> {
    const { merchant_id, kind, attempts, expires_at } = mail;
    if (expires_at !== null && Date.parse(expires_at) <= now().getTime()) {
      await finishMail(database, mail, 'failed', 'EXPIRED');
      return;
    }
    const content = unseal(vault, mail);
    const expanded = expand[kind];
    if (expanded) return expanded(mail, content.to);
    const result = await mailer.send({ ...content, messageId: mail.message_id });
    if (result.outcome === 'sent') {
      await finishMail(database, mail, 'sent', null);
      return;
    }
    const { code } = result;
    const pause = PAUSES_SECONDS[attempts - 1];
    const isOver = result.outcome === 'refused' || pause === undefined;
    log.warn({ merchant_id, kind, code, attempts }, isOver ? 'mail not sent' : 'mail not sent; will retry');
    if (isOver) await finishMail(database, mail, 'failed', code);
    else await retryMail(database, mail, new Date(now().getTime() + pause * 1000), code);
  }

  return {
    name: 'mails',
    purpose: 'send a mail',
    everyMs: 2000,
    wakes: [MAILS],
    lanes: 4,
    // A shop that sends many may use all lanes while nobody else needs them.
    lanesOfEach: 4,
    due: async ({ at, after }) =>
      after || (await isHeld()) ? [] : byTurn(await dueMails(database, at, SEEN_MAX)),
    async run({ merchant_id, mail_id }, { at, failed }) {
      if (await isHeld()) return 'done';
      const lease = new Date(now().getTime() + LEASE_MS);
      const mail = await claimMail(database, merchant_id, mail_id!, { at, lease });
      if (!mail) return 'done';
      try {
        await attempt(mail);
      } catch (err) {
        // It is claimed again when its lease has ended.
        if (err instanceof DatabaseUnavailable) throw err;
        failed(err, { merchant_id, kind: mail.kind });
      }
      return 'more';
    },
  };
}

/** One of each shop, then the second of each, and so on. */
function byTurn(mails: readonly Pick<ClaimedMail, 'merchant_id' | 'id'>[]): JobKey[] {
  const queues = [...Map.groupBy(mails, ({ merchant_id }) => merchant_id).values()];
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, n) => queues.flatMap((queue) => queue[n] ?? []))
    .flat()
    .map(({ merchant_id, id }) => ({ merchant_id, mail_id: id }));
}
