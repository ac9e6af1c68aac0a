import { PASSWORD_LENGTH_MIN } from '../../../src/contract/plain.ts';
import { ApiError } from '../api/error.ts';
import type { Translation } from '../i18n/translation.tsx';

/** Known errors are translated. For others the server's English message is shown. */
export function errorMessage({ t, duration }: Translation, error: unknown): string {
  if (!(error instanceof ApiError)) return t('errorServer');
  switch (error.code) {
    case 'UNREACHABLE':
      return t('errorNetwork');
    case 'INVALID_CREDENTIALS':
      return t(error.field === 'otp' ? 'errorCode' : 'errorCredentials');
    case 'FORBIDDEN':
      if (error.field === 'password') return t('errorPassword');
      return error.field === 'otp' ? t('errorCode') : error.message;
    case 'VALIDATION_ERROR':
      return error.field === 'new_password'
        ? t('errorNewPassword', { n: PASSWORD_LENGTH_MIN })
        : error.message;
    case 'TOO_MANY_PASSKEYS':
      return t('passkeysTooMany');
    case 'RATE_LIMITED':
      return t('errorRateLimited', { wait: duration(error.retryAfterSeconds ?? 60) });
    case 'SERVICE_UNAVAILABLE':
    case 'INTERNAL_ERROR':
      return t('errorServer');
    case 'WINDOW_CLOSED':
      return t('errorWindowClosed');
    case 'ALREADY_ANSWERED':
      return t('alreadyAnswered');
    case 'NOTIFICATION_NOT_FOUND':
    case 'DOCUMENT_NOT_FOUND':
    case 'WORDING_NOT_FOUND':
      return t('errorNotFound');
    default:
      return error.message;
  }
}
