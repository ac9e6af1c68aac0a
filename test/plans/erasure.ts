import assert from 'node:assert/strict';
import { SERVER } from '../../src/audit/record.ts';
import { cleanUp } from '../../src/cleanUp.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import { deleteUser } from '../../src/erasure/colleague.ts';
import { beginDeletion, deleteDueMerchant } from '../../src/erasure/merchant.ts';
import { createLogger } from '../../src/log.ts';
import { insertMerchant } from '../../src/merchants/store.ts';
import { addColleague } from '../colleagues.ts';
import { type Deskbell, raise } from '../harness.ts';
import { until } from '../shops.ts';

/** Erases a customer, deletes a colleague and a merchant, and removes what is old. */
export async function useErasure(deskbell: Deskbell, token: string): Promise<void> {
  const { database, clock, config } = deskbell;
  const body = { reference: 'erased', customer_name: 'Ida Rey', customer_phone: '+34611998877' };
  const created = await deskbell.call('POST', '/api/v1/conversation/', { token, body });
  const conversation_id = created.json.id;
  const address = await raise(deskbell, token, {
    ...{ notification_type: 'user_question_request', conversation_id },
    context: { question: 'Is Ida Rey known?' },
  });
  await deskbell.call('POST', `${address}/answer`, { token, body: { answer: 'Yes, Ida Rey is.' } });
  await deskbell.allSent();
  const reply = await deskbell.call('DELETE', `/api/v1/conversation/${conversation_id}`, { token });
  assert.equal(reply.status, 202, reply.text);
  const { id } = await addColleague(deskbell, 'Leo Mar');
  const by = { who: SERVER, at: clock.now() };
  await database.transaction((tx) => deleteUser(tx, id, by));
  await until('nothing is left to erase', async () => {
    const row = await database.one<{ step: string }>('select step from erasures limit 1');
    if (row?.step === 'again') clock.jump(31);
    return row === undefined;
  });
  const merchant = await insertMerchant(database, 'Gone soon', clock.now());
  const merchantId = merchant.id as MerchantId;
  await database.transaction((tx) => beginDeletion(tx, merchantId, { who: SERVER, at: clock.now() }));
  clock.jump(31);
  await until('the merchant is gone', async () => {
    await deleteDueMerchant({ database, now: clock.now, isStopped: () => false, merchantId });
    return (await database.one('select id from merchants where id = $1', [merchantId])) === undefined;
  });
  const retentionDays = { ...config.retentionDays, notifications: 3000, deliveries: 3000 };
  const log = createLogger({ logLevel: 'silent', logPretty: false });
  await cleanUp(database, { ...config, retentionDays }, log, clock.now());
}
