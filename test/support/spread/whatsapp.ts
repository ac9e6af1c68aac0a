import assert from 'node:assert/strict';
import type { TestDatabase } from '../databases.ts';
import { QUESTION, raise, startDeskbell } from '../server.ts';
import { metaEnv, startMeta } from '../stand-ins/meta.ts';
import { newPhone } from '../whatsapp.ts';

/** Customers who write and get messages over WhatsApp, everything that it reports, and what can go wrong. */
export async function useWhatsApp(database: TestDatabase): Promise<void> {
  let now = () => new Date();
  const meta = await startMeta({ now: () => now() });
  const deskbell = await startDeskbell('postgres', metaEnv(meta), database);
  now = deskbell.clock.now;
  meta.webhookUrl = `${deskbell.url}/webhooks/whatsapp`;
  const quiet = async () => {
    await deskbell.allSent();
    await meta.reported();
    await deskbell.allSent();
  };
  try {
    const token = await deskbell.signIn();
    const post = async (path: string, body: object) => {
      const { status, json, text } = await deskbell.call('POST', `/api/v1/conversation/${path}`, {
        token,
        body,
      });
      assert.equal(status, 200, text);
      return json;
    };
    const customer = async () => {
      const phone = newPhone();
      const reference = `whatsapp ${phone}`;
      const { id } = await post('', { reference, customer_name: 'Ida', customer_phone: phone });
      return { id, phone };
    };
    const send = async (id: number) => {
      await post(`${id}/send`, { text: 'At nine.' });
      await quiet();
    };

    const writes = await customer();
    await meta.customerWrites(writes.phone);
    await quiet();
    await send(writes.id);
    const sent = meta.accepted.at(-1)!;
    for (const status of ['delivered', 'read'] as const) await meta.report(sent, status);
    await meta.report(sent, 'delivered', { biz_opaque_callback_data: undefined });
    await quiet();
    for (const fault of [{ failsWith: 130429 }, { code: 131026 }, { code: 80007 }, { http: 500 }] as const) {
      meta.next(fault);
      await send(writes.id);
      await deskbell.clock.advance(60);
      await quiet();
    }
    // Without a message from the customer, one must wait for it.
    const silent = await customer();
    const address = await raise(deskbell, token, { ...QUESTION, conversation_id: silent.id });
    await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'At nine.' } });
    await quiet();
    await meta.customerWrites(silent.phone);
    await quiet();
  } finally {
    await deskbell.close();
    await meta.close();
  }
}
