import { nameOfPerson } from '../auth/people.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { Queries } from '../database/database.ts';
import { readBrief } from '../notifications/brief.ts';
import { readNoteText } from '../notifications/team/store.ts';
import type { Alert } from './rules.ts';

/** What a device gets, encrypted for it alone. The service worker of the dashboard makes sentences of it. */
interface Payload {
  kind: Alert['kind'];
  /** The same in every attempt: a device shows it once. */
  tag: string;
  language: string;
  /** The question to open. */
  notification_id?: number;
  customer?: string;
  /** The colleague. */
  by?: string;
  text?: string;
}

/** A push service takes 4,096 bytes. In the longest case a character is six bytes of JSON. */
const NAME_MAX = 60;
const TEXT_MAX = 300;
const cut = (text: string, max: number) => {
  const short = [...text.slice(0, 2 * max + 2)];
  return short.length > max ? `${short.slice(0, max - 1).join('')}…` : short.join('');
};

interface Options {
  tag: string;
  language: string;
  hidesText: boolean;
}

export async function payloadOf(
  queries: Queries,
  merchantId: MerchantId,
  alert: Alert,
  { tag, language, hidesText }: Options,
): Promise<string> {
  const payload: Payload = { kind: alert.kind, tag, language };
  if (alert.kind === 'test') return JSON.stringify(payload);
  if (alert.notification_id > 0) payload.notification_id = alert.notification_id;
  if (hidesText) return JSON.stringify(payload);
  const brief = await readBrief(queries, merchantId, alert.notification_id);
  if (brief) payload.customer = cut(brief.customer, NAME_MAX);
  const text =
    alert.kind === 'mentioned'
      ? await readNoteText(queries, merchantId, alert.notification_id, alert.note_id)
      : brief?.question;
  if (text !== undefined) payload.text = cut(text, TEXT_MAX);
  if ('by' in alert) {
    const name = await nameOfPerson(queries, merchantId, alert.by);
    if (name !== undefined) payload.by = cut(name, NAME_MAX);
  }
  return JSON.stringify(payload);
}
