import assert from 'node:assert/strict';
import { cleanUp } from '../../../src/cleanUp.ts';
import { createLogger } from '../../../src/log.ts';
import { type Deskbell, raise } from '../server.ts';
import { until } from '../shops.ts';

/** Erases a customer, and removes what is old. */
export async function useErasure(deskbell: Deskbell, token: string): Promise<void> {
  const { database, clock, config } = deskbell;
  const body = { reference: 'erased', customer_name: 'Ida Rey', customer_phone: '+34611998877' };
  const conversation = await deskbell.call('POST', '/api/v1/conversation/', { token, body });
  const conversation_id = conversation.json.id;
  const address = await raise(deskbell, token, {
    ...{ notification_type: 'user_question_request', conversation_id },
    context: { question: 'Is Ida Rey known?' },
  });
  await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes, Ida Rey is.' } });
  await deskbell.allSent();
  const reply = await deskbell.call('DELETE', `/api/v1/conversation/${conversation_id}`, { token });
  assert.equal(reply.status, 202, reply.text);
  clock.jump(31);
  const path = '/api/v1/audit?what=conversation.erasure_finished';
  const isErased = async () => (await deskbell.call('GET', path, { token })).json.length > 0;
  await until('the customer is erased', isErased, 120_000);
  const retentionDays = { ...config.retentionDays, notifications: 3000, deliveries: 3000 };
  const log = createLogger({ logLevel: 'silent', logPretty: false });
  await cleanUp(database, { ...config, retentionDays }, log, clock.now());
}
