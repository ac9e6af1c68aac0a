import { MessageOf } from '../../contract/common.ts';
import { ForgottenPassword, PasswordReset } from '../../contract/people.ts';
import type { Database } from '../../database/database.ts';
import { invalid, linkNotFound, noMail, rateLimited, required } from '../../errors.ts';
import { addressGroup } from '../../http/address.ts';
import { type App, route } from '../../http/openapi.ts';
import { enqueueMail, MAILS, NO_MERCHANT } from '../../mail/queue.ts';
import type { Vault } from '../../secrets.ts';
import { countRequest } from '../attempts.ts';
import { emailKeyOf } from '../email.ts';
import type { Shop } from '../mailTexts.ts';
import { readOneTimeToken } from '../oneTimeToken.ts';
import type { Revocations } from '../sessions/revocations.ts';
import type { CheckPolicy } from './checkPolicy.ts';
import type { Passwords } from './passwords.ts';
import { TOO_SHORT } from './policy.ts';
import { findResettingUser, resetPassword } from './reset.ts';

export interface ResetParts {
  database: Database;
  vault: Vault;
  passwords: Passwords;
  checkPolicy: CheckPolicy;
  revocations: Pick<Revocations, 'read'>;
  /** Whether this server sends mail. */
  mail: unknown;
  shopOf: (merchantId: number) => Promise<Shop | undefined>;
  now: () => Date;
}

const SENT = 'If there is an account with this address, a link is on its way to it.';
const RESET = 'Your password was changed. You can sign in now.';
/** Whoever waits longer asks again. */
const FORGOTTEN_KEPT_MS = 60 * 60_000;

/** For people who forgot their password. */
export async function resetRoutes(app: App, parts: ResetParts): Promise<void> {
  const { database, vault, passwords, checkPolicy, revocations, mail, shopOf, now } = parts;

  async function count(what: string, address: string): Promise<void> {
    const seconds = await countRequest(database, what, address, now(), vault);
    if (seconds > 0) throw rateLimited(seconds);
  }

  app.post(
    '/password/forgot',
    route('auth', 'Ask for a new password', {
      operationId: 'forgotPassword',
      description:
        'Sends a link to the address, if it belongs to an account. The response is the same for every address. ' +
        'A server that sends no mail refuses it: then an owner of the team creates the link.',
      errors: [noMail(), required('email')],
      open: true,
      body: ForgottenPassword,
      response: { 200: MessageOf(SENT) },
    }),
    async (request) => {
      if (mail === undefined) throw noMail();
      await count('forgot', request.ip);
      const at = now();
      const to = emailKeyOf(request.body.email);
      const expiresAt = new Date(at.getTime() + FORGOTTEN_KEPT_MS);
      await database.transaction((tx) =>
        enqueueMail(tx, vault, NO_MERCHANT, {
          ...{ kind: 'password_forgotten', to, subject: '', text: '', at, expiresAt },
        }),
      );
      database.signal(MAILS);
      return { message: SENT };
    },
  );

  app.post(
    '/password/reset',
    route('auth', 'Set a new password', {
      operationId: 'resetPassword',
      description:
        'With the token of a link, which works once. All sessions of the user end. The next sign-in still needs ' +
        'the second factor.',
      errors: [linkNotFound(), required('password'), invalid('password', TOO_SHORT)],
      open: true,
      body: PasswordReset,
      response: { 200: MessageOf(RESET) },
    }),
    async (request) => {
      const token = readOneTimeToken(request.body.token);
      const user = token && (await findResettingUser(database, token, now()));
      if (!token || !user) {
        await count('reset', request.ip);
        throw linkNotFound();
      }
      // Each try takes a second of computing.
      await count(`reset ${user.id}`, request.ip);
      const { password } = request.body;
      const shop = user.merchant_id === null ? undefined : await shopOf(user.merchant_id);
      const requester = { group: addressGroup(request.ip), isKnown: false };
      const problem = await checkPolicy(password, [user.email, user.name, shop?.name ?? ''], requester);
      if (problem !== undefined) throw invalid('password', problem);
      const passwordHash = await passwords.hash(password);
      if (!(await resetPassword(database, token, { passwordHash, address: request.ip, at: now() })))
        throw linkNotFound();
      // This server refuses the old tokens at once. Otherwise the next regular read finds it.
      await revocations.read().catch(() => {});
      return { message: RESET };
    },
  );
}
