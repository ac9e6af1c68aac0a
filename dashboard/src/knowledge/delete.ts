import type { QueryClient } from '@tanstack/react-query';
import { calls } from '../api/calls.ts';
import { request } from '../api/client.ts';
import { ignoreNotFound } from '../api/error.ts';
import type { Document } from '../api/types.ts';
import type { Translation } from '../i18n/translation.tsx';
import { askFirst } from '../shell/confirmation.ts';
import { showToast } from '../shell/toasts.tsx';
import { removeDocumentDraft } from './drafts.ts';

/** Asks first: it cannot be undone. Returns whether it was done. */
export async function deleteDocument(
  client: QueryClient,
  { t }: Translation,
  { id, title }: Pick<Document, 'id' | 'title'>,
): Promise<boolean> {
  const question = { title: t('deleteDocument', { title }), text: t('cannotBeUndone') };
  if (!(await askFirst({ ...question, action: 'delete' }))) return false;
  try {
    await request(calls.deleteDocument(id)).catch(ignoreNotFound);
  } catch {
    showToast('deleteFailed', { values: { n: 1 }, tone: 'error' });
    return false;
  }
  removeDocumentDraft(id);
  showToast('deleted', { values: { n: 1 } });
  client.removeQueries({ queryKey: ['document', id] });
  void client.invalidateQueries({ queryKey: ['documents'] });
  return true;
}
