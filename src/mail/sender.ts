import type { Logger } from 'pino';
import { type Database, DatabaseUnavailable } from '../database/database.ts';
import { createHoldCheck } from '../database/sendingHold.ts';
import type { Vault } from '../secrets.ts';
import { ATTEMPT_MAX_MS, type Mailer } from './mailer.ts';
import {
  type ClaimedMail,
  claimMail,
  type DueMail,
  dueMails,
  finishMail,
  MAILS,
  type MailKind,
  nextMailDueAt,
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

export interface MailSender {
  /** Resolves when nothing is due and nothing is being sent. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Signals may be lost with their connection. */
const POLL_MS = 2000;
const AT_ONCE = 4;
/** How many due mails one look sees. Of these, every shop gets its turn. */
const SEEN_MAX = 500;
const LEASE_MS = 2 * ATTEMPT_MAX_MS;
/** For about a day and a half. */
export const PAUSES_SECONDS = [30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 57_600];

/**
 * Sends what is due, in any number of processes. A crash after the server has accepted a mail and before we have written
 * it down sends it again when the lease ends, with the same Message-ID, so that mail programs show it once.
 */
export function startMailSender(parts: MailSenderParts): MailSender {
  const { database, vault, mailer, expand, log, now } = parts;
  let stopped = false;
  let running: Promise<void> | undefined;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  const isHeld = createHoldCheck(database);

  function look(): void {
    again = true;
    if (stopped || running) return;
    clearTimeout(timer);
    running = sendDue().finally(() => {
      running = undefined;
      if (stopped) return;
      if (again) look();
      else void waitForNext();
    });
  }

  async function waitForNext(): Promise<void> {
    const isWaiting = await isHeld().catch(() => true);
    const due = isWaiting ? undefined : await nextMailDueAt(database).catch(() => undefined);
    const inMs = due === undefined ? POLL_MS : Date.parse(due) - now().getTime();
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(look, Math.min(Math.max(inMs, 5), POLL_MS)).unref();
  }

  async function sendDue(): Promise<void> {
    try {
      for (let found = true; found && !stopped; ) {
        again = false;
        if (await isHeld()) return;
        const turns = byTurn(await dueMails(database, now(), SEEN_MAX));
        found = turns.length > 0;
        await Promise.all(Array.from({ length: AT_ONCE }, () => takeTurns(turns)));
      }
    } catch (err) {
      log.warn({ err }, 'cannot send mails; will retry');
    }
  }

  async function takeTurns(turns: DueMail[]): Promise<void> {
    for (let mail = turns.shift(); mail && !stopped; mail = turns.shift()) {
      if (await isHeld()) return;
      const claimed = await claimMail(database, mail, new Date(now().getTime() + LEASE_MS));
      if (claimed) await attempt(claimed).catch((err) => afterError(err, claimed));
    }
  }

  /** A problem with one mail must not stop the others. It is claimed again when its lease has ended. */
  function afterError(err: unknown, { merchant_id, kind }: ClaimedMail): void {
    if (err instanceof DatabaseUnavailable) throw err;
    log.error({ err, merchant_id, kind }, 'cannot send a mail; will retry');
  }

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

  const unsubscribe = database.listen(MAILS, look);
  look();

  return {
    async idle() {
      look();
      while (running) await running;
    },
    async stop() {
      stopped = true;
      unsubscribe();
      clearTimeout(timer);
      await running;
    },
  };
}

/** One of each shop, then the second of each, and so on. */
function byTurn(mails: readonly DueMail[]): DueMail[] {
  const queues = [...Map.groupBy(mails, ({ merchant_id }) => merchant_id).values()];
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, n) => queues.flatMap((queue) => queue[n] ?? [])).flat();
}
