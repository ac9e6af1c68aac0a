import type { Static } from 'typebox';
import type { MerchantId } from '../../contract/ids.ts';
import type { TeachingProposal } from '../../contract/teaching.ts';
import type { Queries } from '../../database/database.ts';
import { notificationNotFound } from '../../errors.ts';
import { findTaughtDocument, titleOf } from '../../knowledge/teach.ts';
import { isPersonal } from '../groups/personal.ts';
import { KINDS, readContext } from '../kinds.ts';
import { findNotification } from '../store.ts';

/** A document keeps what it has, unless the person decides otherwise. */
export async function proposeTeaching(
  queries: Queries,
  merchantId: MerchantId,
  id: number,
): Promise<Static<typeof TeachingProposal>> {
  const notification = await findNotification(queries, { merchantId, id });
  if (!notification) throw notificationNotFound();
  const { question, documentId } = readContext(notification);
  const personal = isPersonal(question);
  const document = (await findTaughtDocument(queries, merchantId, documentId)) ?? null;
  const teaches = KINDS[notification.notification_type].teaches && !personal;
  return {
    personal,
    document,
    proposal: {
      do: teaches ? (document ? 'append' : 'new') : 'nothing',
      title: document?.title ?? titleOf(question),
      text: null,
    },
  };
}
