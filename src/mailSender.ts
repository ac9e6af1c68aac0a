import type { Logger } from 'pino';
import { createExpandForgotten } from './auth/passwords/reset.ts';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import type { Job } from './jobs/job.ts';
import { createMailer } from './mail/mailer.ts';
import { sendMails } from './mail/sender.ts';
import { findMerchant } from './merchants/store.ts';
import type { Vault } from './secrets.ts';

interface MailSenderParts {
  config: Pick<Config, 'mail' | 'publicUrl'>;
  database: Database;
  vault: Vault;
  log: Logger;
  now: () => Date;
}

/** Sends mail, if it is set up. */
export function openMailSender({ config, ...parts }: MailSenderParts): Job | undefined {
  const { mail, publicUrl } = config;
  if (!mail || publicUrl === undefined) return undefined;
  const shopOf = (id: number) => findMerchant(parts.database, id);
  const password_forgotten = createExpandForgotten({ ...parts, publicUrl, shopOf });
  return sendMails({ ...parts, mailer: createMailer(mail), expand: { password_forgotten } });
}
