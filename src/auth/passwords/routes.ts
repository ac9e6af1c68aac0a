import { PasswordBody } from '../../contract/auth.ts';
import { MessageOf } from '../../contract/common.ts';
import {
  invalid,
  proofRefused,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
  userNotFound,
} from '../../errors.ts';
import { type App, route } from '../../http/openapi.ts';
import { factorCallerOf } from '../factors/routes.ts';
import { userOf } from '../guard.ts';
import type { ChangeOwnPassword } from './changeOwn.ts';
import { TOO_SHORT } from './policy.ts';

/** A user's own password. Operators have one too, so no merchant is needed. */
export async function passwordRoutes(app: App, changeOwnPassword: ChangeOwnPassword): Promise<void> {
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
      await changeOwnPassword(factorCallerOf(request), request.body);
      return { message: 'Your password was changed.' };
    },
  );
}
