import { PasswordBody } from '../../contract/auth.ts';
import { MessageOf } from '../../contract/common.ts';
import type { Database } from '../../database/database.ts';
import {
  invalid,
  proofRefused,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  userNotFound,
} from '../../errors.ts';
import { type App, route } from '../../http/openapi.ts';
import type { Vault } from '../../secrets.ts';
import { attemptOf } from '../attempts.ts';
import { userAt } from '../events.ts';
import type { Factors } from '../factors/factors.ts';
import { factorCallerOf } from '../factors/routes.ts';
import { userOf } from '../guard.ts';
import { changeOwnPassword } from '../users.ts';
import type { CheckPolicy } from './checkPolicy.ts';
import type { Passwords } from './passwords.ts';
import { TOO_SHORT } from './policy.ts';

interface OwnPasswordParts {
  database: Database;
  factors: Factors;
  passwords: Passwords;
  checkPolicy: CheckPolicy;
  vault: Vault;
  merchantNameOf: (merchantId: number) => Promise<string | undefined>;
  now: () => Date;
}

/** A user's own password. Operators have one too, so no merchant is needed. */
export async function passwordRoutes(app: App, parts: OwnPasswordParts): Promise<void> {
  const { database, factors, passwords, checkPolicy, vault, merchantNameOf, now } = parts;

  app.addHook('preParsing', async (request) => {
    userOf(request);
  });

  app.post(
    '/password',
    route('auth', 'Change your password', {
      operationId: 'changePassword',
      description: 'Needs the current password. All other sessions of the user end.',
      errors: [
        ...[tokenMissing(), tokenInvalid(), tokenExpired(), userNotFound()],
        proofRefused('password'),
        invalid('new_password', TOO_SHORT),
      ],
      body: PasswordBody,
      response: { 200: MessageOf('Your password was changed.') },
    }),
    async (request) => {
      const { password, new_password } = request.body;
      const { userId, sessionId, address } = factorCallerOf(request);
      const user = await factors.prove({ userId, sessionId, address }, { password });
      if (new_password === password) {
        throw invalid('new_password', 'This is your current password. Choose another one.');
      }
      const shop = user.merchant_id === null ? undefined : await merchantNameOf(user.merchant_id);
      const known = [user.email, user.name, shop ?? ''];
      const problem = await checkPolicy(new_password, known, { group: String(user.id), isKnown: true });
      if (problem !== undefined) throw invalid('new_password', problem);
      const changed = await changeOwnPassword(database, {
        userId,
        sessionId,
        place: attemptOf(user.email, address, now(), vault).place,
        formerHash: user.password_hash,
        passwordHash: await passwords.hash(new_password),
        at: now(),
        by: userAt(userId, address),
      });
      if (!changed) throw tokenInvalid();
      return { message: 'Your password was changed.' };
    },
  );
}
