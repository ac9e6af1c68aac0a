import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { listConversations } from '../../../src/conversations/store.ts';
import { parsePhone } from '../../../src/delivery/phone.ts';
import { countryColumn, countryOf, updateMerchant } from '../../../src/merchants/store.ts';
import { run, settingsOf } from '../../support/command.ts';
import { type Merchant, newMerchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

/** Asks from this number, answers, and returns the delivery when all messages are sent. */
async function answerTo(shop: Merchant, lead_phone: string, answer = 'Here.') {
  const context = { question: `Where is ${answer}?`, lead_phone };
  const id = await shop.raise({ notification_type: 'user_question_request', context });
  assert.equal((await shop.answer(id, answer)).status, 200);
  await shop.deskbell.allSent();
  const { delivery } = (await shop.get(`/notification/${id}`)).json;
  return { ...(await shop.get(`/delivery/${delivery.id}`)).json, question: id };
}

onEachEngine('a merchant’s country', (engine) => {
  const shop = useMerchant(engine);
  const command = (args: readonly string[], settings = {}) =>
    run(args, { env: { ...settingsOf(shop.deskbell), ...settings } });

  it('is set, changed and removed on the command line', async () => {
    const { database } = shop.deskbell;
    const stored = async () => {
      const own = await countryOf(database, shop.id);
      const sql = `select ${countryColumn('$1')} as country`;
      const row = await database.one<{ country: string | null }>(sql, [shop.id]);
      assert.equal(row?.country ?? undefined, own);
      return own;
    };
    for (const [country, expected] of [
      ['ar', 'AR'],
      ['US', 'US'],
      ['none', undefined],
    ] as const) {
      const changed = await command(['merchant', 'set', `${shop.id}`, '--country', country, '--json']);
      assert.deepEqual([changed.code, changed.json.country ?? undefined], [0, expected], changed.stderr);
      assert.equal(await stored(), expected);
    }
    for (const [args, code, message] of [
      [['add', 'Shop', '--country', 'Spain'], 2, /two letters of a country, such as ES for Spain/],
      [['set', '1', '--country', 'XX'], 2, /two letters of a country/],
      [['set', '1'], 2, /give --country, --name, --deliver or --confident/],
      [['set', '1', '--name', '\u001b[31m'], 2, /1 to 200 characters on one line/],
      [['set', 'Aurora', '--country', 'ES'], 2, /ID is a number/],
      [['set', '999', '--country', 'ES'], 1, /There is no merchant 999/],
    ] as const) {
      const refused = await command(['merchant', ...args]);
      assert.equal(refused.code, code, refused.stdout);
      assert.match(refused.stderr, message);
    }
    const listed = await command(['merchant', 'list']);
    assert.match(listed.stdout, /^ID +NAME +COUNTRY +ANSWERS SENT BY .*\n1 +\S.* ES +deskbell /s);
  });

  it('is what an import completes numbers with, or else DEFAULT_COUNTRY; each bad one is reported', async () => {
    const american = await newMerchant(shop.deskbell);
    await updateMerchant(shop.deskbell.database, american.id, { country: 'US' });
    const nowhere = await newMerchant(shop.deskbell);
    const rows = ['a,Ana,(415) 555-2671', 'b,Ben,+34 611 55 01 01', 'c,Cleo,+4155552674', 'd,Dan,call me'];
    const file = join(shop.deskbell.config.dataDir, 'numbers.csv');
    writeFileSync(file, `reference,name,phone\n${rows.join('\n')}\n`);
    const problems = [
      'Line 4: phone has too few digits for its country.',
      'Line 5: phone is not a phone number.',
    ];
    const noCountry = 'Line 2: phone has no country code; write it with + and the country code in front.';
    const all: [string, string][] = [
      ['a', '+14155552671'],
      ['b', '+34611550101'],
    ];
    for (const [{ id }, settings, lines, phones] of [
      [american, { DEFAULT_COUNTRY: 'ES' }, problems, all],
      [nowhere, {}, [noCountry, ...problems], all.slice(1)],
      [nowhere, { DEFAULT_COUNTRY: 'us' }, problems, all],
    ] as const) {
      const done = await command(['conversation', 'import', file, '--merchant', `${id}`], settings);
      assert.deepEqual(done.stderr.trim().split('\n'), lines);
      const stored = await listConversations(shop.deskbell.database, id, { afterId: 0, limit: 100 });
      const found = stored.flatMap(({ reference, customer_phone }) =>
        reference === null ? [] : [[reference, customer_phone]],
      );
      assert.deepEqual(found.sort(), phones);
    }
    const add = ['conversation', 'add', '--merchant', `${nowhere.id}`, '--name', 'Ana', '--phone'];
    const refused = await command([...add, '(415) 555-2672']);
    assert.deepEqual([refused.code, /555/.test(refused.stdout + refused.stderr)], [2, false]);
    assert.equal((await command([...add, '(415) 555-2672'], { DEFAULT_COUNTRY: 'US' })).code, 0);
  });

  it('is set in the demo: every number there is complete', async () => {
    const { database } = shop.deskbell;
    const given = await database.all<{ phone: string | null; context: string | null }>(
      `select customer_phone as phone, null as context from conversations where merchant_id <= 2
        union all select null, context from notifications where merchant_id <= 2`,
    );
    const phones = given.flatMap(({ phone, context }) => phone ?? JSON.parse(context!).lead_phone ?? []);
    assert.ok(phones.length > 8);
    for (const phone of phones) assert.deepEqual(parsePhone(phone, undefined), { phone });
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
      ['+4155552671', /has too few digits for its country/],
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
    for (const wrong of ['415 555 2699', '+4155552699', 'the desk', '', 4155552699]) {
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
    const again = await read(id);
    assert.equal(again.state, 'failed');
    assert.ok(again.reason.includes('(415) 555-2691'), again.reason);

    await updateMerchant(shop.deskbell.database, shop.id, { country: 'US' });
    assert.equal((await retry(id)).status, 200);
    const { state, recipient } = await read(id);
    assert.deepEqual([state, recipient], ['delivered', '+14155552691']);
    assert.deepEqual(await textsAt('+14155552691'), ['the later one']);
  });
});

onEachEngine('an answer to a number without a country code', (engine) => {
  const shop = useMerchant(engine, { DEFAULT_COUNTRY: 'ES' });

  it('reaches DEFAULT_COUNTRY, in which a fixed number is known, too', async () => {
    const { question, state, recipient } = await answerTo(shop, '611 55 01 01');
    assert.deepEqual([state, recipient], ['delivered', '+34611550101']);
    const shown = (await shop.get(`/notification/${question}`)).json;
    assert.equal(shown.context.lead_phone, '611 55 01 01');
    const { database } = shop.deskbell;
    await database.run(`update deliveries set state = 'failed' where notification_id = $1`, [question]);
    const fixed = await shop.post(`/notification/${question}/recipient`, { phone: '611 55 01 02' });
    assert.equal(fixed.status, 200, fixed.text);
    assert.equal((await answerTo(shop, '611 55 01 01')).recipient, '+34611550102');
  });

  it('reaches the merchant’s country if it has one', async () => {
    await updateMerchant(shop.deskbell.database, shop.id, { country: 'US' });
    assert.equal((await answerTo(shop, '(415) 555-2671')).recipient, '+14155552671');
  });
});
