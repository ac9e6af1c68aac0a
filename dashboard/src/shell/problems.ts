import { Problem } from '../api/problem.ts';
import type { Wording } from '../i18n/language.tsx';

/** A failure, in the reader's language where it is one that we know. */
export function explain({ t, duration }: Wording, error: unknown): string {
  if (!(error instanceof Problem)) return t('errorServer');
  switch (error.code) {
    case 'UNREACHABLE':
      return t('errorNetwork');
    case 'INVALID_CREDENTIALS':
      return t('errorCredentials');
    case 'RATE_LIMITED':
      return t('errorRateLimited', { wait: duration(error.retryAfterSeconds ?? 60) });
    case 'SERVICE_UNAVAILABLE':
    case 'INTERNAL_ERROR':
      return t('errorServer');
    case 'NOTIFICATION_NOT_FOUND':
    case 'DOCUMENT_NOT_FOUND':
      return t('errorGone');
    default:
      return error.message;
  }
}
