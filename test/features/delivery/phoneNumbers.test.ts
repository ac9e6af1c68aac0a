import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { updateMerchant } from '../../../src/merchants/store.ts';
import { run, settingsOf } from '../../support/command.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

/** Asks from this number, answers, and returns the delivery when all messages are sent. */
async function answerTo(shop: Merchant, lead_phone: string, answer = 'Here.') {
  const id = await shop.raise({ context: { question: `Where is ${answer}?`, lead_phone } });
  assert.equal((await shop.answer(id, answer)).status, 200);
  await shop.deskbell.allSent();
  const { delivery } = (await shop.get(`/notification/${id}`)).json;
  return { ...(await shop.get(`/delivery/${delivery.id}`)).json, question: id };
}

describe('a merchant’s country', () => {
  const shop = useMerchant('sqlite');
  const command = (args: readonly string[]) => run(args, { env: settingsOf(shop.deskbell) });

  it('is set, changed and removed on the command line', async () => {
    for (const [country, expected] of [
      ['ar', 'AR'],
      ['US', 'US'],
      ['none', undefined],
    ] as const) {
      const changed = await command(['merchant', 'set', `${shop.id}`, '--country', country, '--json']);
      assert.deepEqual([changed.code, changed.json.country ?? undefined], [0, expected], changed.stderr);
    }
    for (const [args, code, message] of [
      [['add', 'Shop', '--country', 'Spain'], 2, /two letters of a country, such as ES for Spain/],
      [['set', '1', '--country', 'XX'], 2, /two letters of a country/],
      [['set', '999', '--country', 'ES'], 1, /There is no merchant 999/],
    ] as const) {
      const refused = await command(['merchant', ...args]);
      assert.equal(refused.code, code, refused.stdout);
      assert.match(refused.stderr, message);
    }
    const { stdout } = await command(['merchant', 'list']);
    assert.match(stdout, /^ID +NAME +COUNTRY +ANSWERS SENT BY .*\n1 +\S.* ES +deskbell /s);
  });
});

onEachEngine('an answer to an impossible number', (engine) => {
  const shop = useMerchant(engine);
  const read = async (id: number) => (await shop.get(`/delivery/${id}`)).json;
  const retry = async (id: number, body?: unknown) => {
    const reply = await shop.post(`/delivery/${id}/retry`, body);
    await shop.deskbell.allSent();
    return reply;
  };
  /** What the test phone of this number shows. */
  async function textsAt(customer_phone: string): Promise<string[]> {
    const { json } = await shop.get(`/simulator/${await shop.converse({ customer_phone })}`);
    return json.map(({ text }: { text: string }) => text);
  }

  it('fails at once, quotes the number, and sends nothing', async () => {
    for (const [phone, problem] of [
      ['(415) 555-2671', /has no country code/],
      ['ask at the desk', /is not a phone number/],
    ] as const) {
      const { state, reason, attempts, timeline } = await answerTo(shop, phone);
      assert.deepEqual([state, attempts, timeline.at(-1).state], ['failed', 0, 'failed']);
      assert.ok(reason.includes(phone), reason);
      assert.match(reason, problem);
    }
    // Phone numbers are personal data, so the log must not contain them.
    assert.doesNotMatch(shop.deskbell.logged.join(''), /555-?2671/);
  });

  it('is sent by a retry with a correct number, and stays failed with a wrong one', async () => {
    const { id, recipient, reason } = await answerTo(shop, '(415) 555-2671', 'the corrected one');
    for (const wrong of ['415 555 2699', 'the desk', '', 4155552699]) {
      const refused = await retry(id, { recipient: wrong });
      assertError(refused, 422, 'VALIDATION_ERROR', 'recipient');
      assert.doesNotMatch(refused.text, /555|2699|the desk/);
    }
    const before = await read(id);
    assert.deepEqual([before.state, before.recipient, before.reason], ['failed', recipient, reason]);
    assert.equal((await retry(id, { recipient: '+1 (415) 555-2671' })).status, 200);
    const after = await read(id);
    assert.deepEqual([after.state, after.recipient, after.reason], ['delivered', '+14155552671', null]);
    assert.deepEqual(await textsAt('+14155552671'), ['the corrected one']);
    assertError(await retry(id, { recipient: '+14155552672' }), 409, 'CONFLICT');
    assert.equal((await read(id)).recipient, '+14155552671');
  });

  it('is sent by a plain retry once the merchant has a country, and fails again until then', async () => {
    const { id } = await answerTo(shop, '(415) 555-2691', 'the later one');
    await retry(id);
    assert.equal((await read(id)).state, 'failed');
    await updateMerchant(shop.deskbell.database, shop.id, { country: 'US' });
    await retry(id);
    assert.equal((await read(id)).recipient, '+14155552691');
    assert.deepEqual(await textsAt('+14155552691'), ['the later one']);
  });
});

describe('an answer to a number without a country code', () => {
  const shop = useMerchant('sqlite', { DEFAULT_COUNTRY: 'ES' });

  it('reaches the merchant’s country, or else DEFAULT_COUNTRY, in which a fixed number is known, too', async () => {
    const { question, state, recipient } = await answerTo(shop, '611 55 01 01');
    assert.deepEqual([state, recipient], ['delivered', '+34611550101']);
    const { database } = shop.deskbell;
    await database.run(`update deliveries set state = 'failed' where notification_id = $1`, [question]);
    const fixed = await shop.post(`/notification/${question}/recipient`, { phone: '611 55 01 02' });
    assert.equal(fixed.status, 200, fixed.text);
    assert.equal((await answerTo(shop, '611 55 01 01')).recipient, '+34611550102');
    await updateMerchant(database, shop.id, { country: 'US' });
    assert.equal((await answerTo(shop, '(415) 555-2671')).recipient, '+14155552671');
  });
});
