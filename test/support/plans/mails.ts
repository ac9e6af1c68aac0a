import { createExpandForgotten, createResetToken } from '../../../src/auth/passwords/reset.ts';
import { openVault } from '../../../src/auth/vault.ts';
import { createLogger } from '../../../src/log.ts';
import type { MailResult } from '../../../src/mail/mailer.ts';
import { enqueueMail } from '../../../src/mail/queue.ts';
import { startMailSender } from '../../../src/mail/sender.ts';
import type { Deskbell } from '../server.ts';

const RESULTS: readonly MailResult[] = [
  { outcome: 'sent' },
  { outcome: 'retry', code: '450' },
  { outcome: 'refused', code: '550' },
];

/** Mails of every kind and with every end, and links for new passwords. */
export async function useMails({ database, config, clock }: Deskbell, count: number): Promise<void> {
  const vault = openVault(config);
  const { now } = clock;
  for (let n = 0; n < count; n += 1) {
    await database.transaction(async (tx) => {
      const mail = { to: `mail-${n}@aurora.example`, subject: 'Hello', text: 'Hello', at: now() };
      await enqueueMail(tx, vault, 1, { ...mail, kind: n % 2 === 0 ? 'alert' : 'invite' });
      const forgotten = n % 3 === 0 ? { to: 'owner@aurora.example' } : {};
      await enqueueMail(tx, vault, 0, { ...mail, ...forgotten, kind: 'password_forgotten' });
      await createResetToken(tx, 1, now());
    });
  }
  const sent: MailResult[] = [];
  const shopOf = async () => ({ name: 'Aurora', language: null });
  const parts = { database, vault, now };
  const sender = startMailSender({
    ...parts,
    mailer: {
      async send() {
        sent.push(RESULTS[sent.length % RESULTS.length]!);
        return sent.at(-1)!;
      },
    },
    expand: {
      password_forgotten: createExpandForgotten({ ...parts, publicUrl: 'https://desk.example', shopOf }),
    },
    log: createLogger({ logLevel: 'silent', logPretty: false }),
  });
  await sender.idle();
  await sender.stop();
}
