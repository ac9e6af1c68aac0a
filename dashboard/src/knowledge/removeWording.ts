import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import type { DocumentDetail, DocumentWording } from '../api/types.ts';
import type { Translation } from '../i18n/translation.tsx';
import { askFirst } from '../shell/confirmation.ts';
import { showToast } from '../shell/toasts.tsx';

/** Asks first: it cannot be undone. */
export async function removeWording(
  client: QueryClient,
  { t }: Translation,
  { id: documentId }: DocumentDetail,
  { id, text }: DocumentWording,
): Promise<void> {
  if (!(await askFirst({ title: t('wordingRemoveAsk'), text, action: 'wordingRemove' }))) return;
  try {
    await request(calls.removeWording(documentId, id)).catch(ignoreNotFound);
    showToast('wordingRemoved');
  } catch {
    showToast('wordingRemoveFailed', { tone: 'error' });
  }
  await client.invalidateQueries({ queryKey: ['document', documentId] });
  await client.invalidateQueries({ queryKey: ['documents'] });
}
