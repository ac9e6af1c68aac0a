import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, it } from 'node:test';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { insertConversation, listConversations } from '../../../src/conversations/store.ts';
import { parsePhone } from '../../../src/delivery/phone.ts';
import {
  countryColumn,
  countryOf,
  findMerchant,
  insertMerchant,
  listMerchants,
  updateMerchant,
} from '../../../src/merchants/store.ts';
import { type Run, run, settingsOf } from '../../support/command.ts';
import {
  assertError,
  BOREALIS,
  type Deskbell,
  NOTIFICATIONS,
  onEachEngine,
  raise,
  useDeskbell,
} from '../../support/server.ts';

const AURORA_ID = 1 as MerchantId;

type Command = (args: readonly string[], settings?: Record<string, string>) => Promise<Run>;
const commandOf =
  (deskbell: Deskbell): Command =>
  (args, settings = {}) =>
    run(args, { env: { ...settingsOf(deskbell), ...settings } });

async function succeed(command: Command, args: readonly string[], settings?: Record<string, string>) {
  const done = await command([...args, '--json'], settings);
  assert.equal(done.code, 0, done.stderr);
  return done.json;
}

function assertRefused({ code, stdout, stderr }: Run, exitCode: 1 | 2, message: RegExp): void {
  assert.equal(code, exitCode, stdout + stderr);
  assert.match(stderr, message);
}

onEachEngine('a merchant’s country', (engine) => {
  const deskbell = useDeskbell(engine);
  const command: Command = (...given) => commandOf(deskbell)(...given);
  const stored = async (id: number) => {
    const own = await countryOf(deskbell.database, id as MerchantId);
    const row = await deskbell.database.one<{ country: string | null }>(
      `select ${countryColumn('$1')} as country`,
      [id],
    );
    assert.equal(row?.country ?? undefined, own);
    return own;
  };

  it('can be set with the merchant, changed, removed and listed', async () => {
    const { id, country } = await succeed(command, ['merchant', 'add', 'Café Sur', '--country', 'ar']);
    assert.equal(country, 'AR');
    assert.equal(await stored(id), 'AR');

    const changed = await command(['merchant', 'set', `${id}`, '--country', 'US', '--name', 'Café Norte']);
    assert.match(changed.stdout, new RegExp(`Merchant ${id} is Café Norte, country US\\.`));
    assert.equal(await stored(id), 'US');
    assert.match(
      (await command(['merchant', 'list'])).stdout,
      new RegExp(
        `^ID +NAME +COUNTRY +ANSWERS SENT BY +CONFIDENT +ADDED.*\\n${id} +Café Norte +US +deskbell +learned +20`,
        's',
      ),
    );

    assert.equal((await succeed(command, ['merchant', 'set', `${id}`, '--name', 'Café'])).country, 'US');
    assert.equal((await succeed(command, ['merchant', 'set', `${id}`, '--country', 'none'])).country, null);
    assert.equal(await stored(id), undefined);
    assert.equal((await findMerchant(deskbell.database, id))?.name, 'Café');
    assert.deepEqual([await stored(1), await stored(2)], ['ES', 'IS']);
  });

  it('must exist, for a merchant that exists, with at least one change', async () => {
    const refused: [readonly string[], 1 | 2, RegExp][] = [
      [
        ['merchant', 'add', 'Shop', '--country', 'Spain'],
        2,
        /two letters of a country, such as ES for Spain/,
      ],
      [['merchant', 'set', '1', '--country', 'XX'], 2, /two letters of a country/],
      [['merchant', 'set', '1'], 2, /give --country, --name, --deliver or --confident/],
      [['merchant', 'set', '1', '--name', '\u001b[31m'], 2, /1 to 200 characters on one line/],
      [['merchant', 'set', 'Aurora', '--country', 'ES'], 2, /ID is a number/],
      [['merchant', 'set', '999', '--country', 'ES'], 1, /There is no merchant 999/],
    ];
    const runs = await Promise.all(refused.map(([args]) => command(args)));
    for (const [index, [, exitCode, message]] of refused.entries())
      assertRefused(runs[index]!, exitCode, message);
    assert.equal(await stored(1), 'ES');
    assert.equal((await listMerchants(deskbell.database)).length, 3);
  });

  it('is set in the demo: every number there is complete', async () => {
    const conversations = await deskbell.database.all<{ phone: string }>(
      'select customer_phone as phone from conversations',
    );
    const contexts = await deskbell.database.all<{ context: string }>('select context from notifications');
    const phones = [
      ...conversations.map(({ phone }) => phone),
      ...contexts.flatMap(({ context }) => JSON.parse(context).lead_phone ?? []),
    ];
    assert.ok(phones.length > 8);
    for (const phone of phones) assert.deepEqual(parsePhone(phone, undefined), { phone });
  });
});

onEachEngine('a customer’s number', (engine) => {
  const deskbell = useDeskbell(engine);
  const command: Command = (...given) => commandOf(deskbell)(...given);
  const add = (merchant: number, phone: string) => [
    ...['conversation', 'add', '--merchant', `${merchant}`, '--name', 'Ana', '--phone', phone],
  ];
  const addMerchant = async (name: string, country: 'US' | null = null) =>
    (await insertMerchant(deskbell.database, name, deskbell.clock.now(), country)).id as MerchantId;
  /** Each with its reference. */
  const phonesOf = async (merchant: MerchantId) =>
    (await listConversations(deskbell.database, merchant, { afterId: 0, limit: 100 })).map(
      ({ reference, customer_phone }): [string | null, string] => [reference, customer_phone],
    );
  const phoneOver = async (token: string, id: number) =>
    (await deskbell.call('GET', `/api/v1/conversation/?ids=${id}`, { token })).json[0].customer_phone;

  it('belongs to the merchant’s country if it has no country code', async () => {
    const [aurora, borealis] = await Promise.all([
      deskbell.signIn(),
      deskbell.signIn(BOREALIS.email, BOREALIS.password),
    ]);
    const spanish = await succeed(command, add(1, '611 55 01 99'));
    assert.equal(await phoneOver(aurora, spanish.id), '+34611550199');
    const icelandic = await succeed(command, add(2, '611 5599'), { DEFAULT_COUNTRY: 'US' });
    assert.equal(await phoneOver(borealis, icelandic.id), '+3546115599');
    const american = await succeed(command, add(1, '001 (415) 555-2671'));
    assert.equal(await phoneOver(aurora, american.id), '+14155552671');
  });

  it('belongs to DEFAULT_COUNTRY if the merchant has no country, or is refused', async () => {
    const merchant = await addMerchant('Nowhere');
    const refused = await command(add(merchant, '(415) 555-2671'));
    assertRefused(refused, 2, /phone has no country code; write it with \+ and the country code in front\./);
    assert.doesNotMatch(refused.stdout + refused.stderr, /555/);
    assert.deepEqual(await phonesOf(merchant), []);

    await succeed(command, add(merchant, '(415) 555-2671'), { DEFAULT_COUNTRY: 'us' });
    assert.deepEqual(await phonesOf(merchant), [[null, '+14155552671']]);
  });

  it('is refused if it is impossible', async () => {
    for (const [phone, problem] of [
      ['+4155552671', /phone has too few digits for its country/],
      ['+34 611 55 01 01 01', /phone has too many digits for its country/],
      ['ask Ana', /phone is not a phone number/],
    ] as const) {
      const refused = await command(add(1, phone));
      assertRefused(refused, 2, problem);
      assert.ok(!(refused.stdout + refused.stderr).includes(phone));
    }
  });

  it('is read in an import by the merchant’s country; each bad one is reported with its line', async () => {
    const merchant = await addMerchant('Mission Beans', 'US');
    const rows = [
      'a,Ana,(415) 555-2671',
      'b,Ben,+34 611 55 01 01',
      'c,Cleo,555-2672',
      'd,Dan,٤١٥ ٥٥٥ ٢٦٧٣',
      'e,Eva,+4155552674',
      'f,Fay,call me',
      'g,Gus,415.555.2675',
    ];
    const file = join(deskbell.config.dataDir, 'numbers.csv');
    writeFileSync(file, `reference,name,phone\n${rows.join('\n')}\n`);
    const importInto = (id: number, settings = {}) =>
      command(['conversation', 'import', file, '--merchant', `${id}`], settings);
    const done = await importInto(merchant);
    assert.equal(done.code, 1);
    assert.match(done.stdout, /^7 lines: 4 added, 0 updated, 0 unchanged, 3 failed/);
    assert.deepEqual(done.stderr.trim().split('\n'), [
      'Line 4: phone has too few digits for its country.',
      'Line 6: phone has too few digits for its country.',
      'Line 7: phone is not a phone number.',
    ]);
    const american: [string, string][] = [
      ['a', '+14155552671'],
      ['b', '+34611550101'],
      ['d', '+14155552673'],
      ['g', '+14155552675'],
    ];
    assert.deepEqual(await phonesOf(merchant), american);

    const nowhere = await addMerchant('Nowhere Beans');
    const refused = await importInto(nowhere);
    const noCountry = 'phone has no country code; write it with + and the country code in front.';
    assert.deepEqual(refused.stderr.trim().split('\n'), [
      `Line 2: ${noCountry}`,
      `Line 4: ${noCountry}`,
      `Line 5: ${noCountry}`,
      'Line 6: phone has too few digits for its country.',
      'Line 7: phone is not a phone number.',
      `Line 8: ${noCountry}`,
    ]);
    assert.deepEqual(await phonesOf(nowhere), [['b', '+34611550101']]);
    await importInto(nowhere, { DEFAULT_COUNTRY: 'US' });
    assert.deepEqual(new Map(await phonesOf(nowhere)), new Map(american));
  });
});

onEachEngine('an answer to an impossible number', (engine) => {
  const deskbell = useDeskbell(engine);
  beforeEach(() => updateMerchant(deskbell.database, AURORA_ID, { country: null }));

  /** Asks from this number, answers, and returns the delivery when all messages are sent. */
  async function answerTo(token: string, phone: string, answer: string) {
    const location = await raise(deskbell, token, {
      notification_type: 'user_question_request',
      conversation_id: 1,
      context: { question: `Where is ${answer}?`, lead_phone: phone },
    });
    const answered = await deskbell.call('POST', `${location}/answer`, { token, body: { answer } });
    assert.equal(answered.status, 200, answered.text);
    await deskbell.allSent();
    const { delivery } = (await deskbell.call('GET', location, { token })).json;
    return read(token, delivery.id);
  }
  const read = async (token: string, id: number) =>
    (await deskbell.call('GET', `/api/v1/delivery/${id}`, { token })).json;
  const retry = async (token: string, id: number, body?: unknown) => {
    const reply = await deskbell.call('POST', `/api/v1/delivery/${id}/retry`, { token, body });
    await deskbell.allSent();
    return reply;
  };
  const sentTexts = async () =>
    (
      await deskbell.database.all<{ phone: string; content: string }>(
        'select phone, content from simulator_messages where from_customer = 0 order by id',
      )
    ).map(({ phone, content }) => [phone, content]);
  /** The test phone that the simulator shows for a conversation with this number. */
  async function messagesAt(token: string, phone: string): Promise<string[]> {
    const sam = { reference: null, name: 'Sam', phone };
    const id = await deskbell.database.transaction((tx) =>
      insertConversation(tx, AURORA_ID, sam, deskbell.clock.now()),
    );
    const { json } = await deskbell.call('GET', `/api/v1/simulator/${id}`, { token });
    return json.map(({ text }: { text: string }) => text);
  }

  it('fails at once, quotes the number, and sends nothing', async () => {
    const token = await deskbell.signIn();
    for (const [phone, problem] of [
      ['(415) 555-2671', /has no country code/],
      ['611 55 01 01', /has no country code/],
      ['+4155552671', /has too few digits for its country/],
      ['ask at the desk', /is not a phone number/],
    ] as const) {
      const { state, reason, attempts, timeline } = await answerTo(token, phone, 'nowhere');
      assert.equal(state, 'failed', phone);
      assert.ok(reason.includes(phone), reason);
      assert.match(reason, problem);
      assert.equal(attempts, 0);
      assert.equal(timeline.at(-1).state, 'failed');
    }
    const { json } = await deskbell.call('GET', '/api/v1/delivery/?state=failed', { token });
    assert.equal(json.length, 4);
    assert.deepEqual(await sentTexts(), []);
    // Phone numbers are personal data, so the log must not contain them.
    assert.doesNotMatch(deskbell.logged.join(''), /555-?2671|611 ?55 ?01/);
  });

  it('is sent by a retry with a correct number', async () => {
    const token = await deskbell.signIn();
    const { id } = await answerTo(token, '(415) 555-2671', 'the corrected one');
    const retried = await retry(token, id, { recipient: '+1 (415) 555-2671' });
    assert.equal(retried.status, 200, retried.text);
    const { state, recipient, reason } = await read(token, id);
    assert.deepEqual([state, recipient, reason], ['delivered', '+14155552671', null]);
    assert.deepEqual(await messagesAt(token, '+14155552671'), ['the corrected one']);
    assertError(await retry(token, id, { recipient: '+14155552672' }), 409, 'CONFLICT');
    assert.equal((await read(token, id)).recipient, '+14155552671');
  });

  it('stays failed if the retry’s number is also wrong', async () => {
    const token = await deskbell.signIn();
    const before = await answerTo(token, '(415) 555-2681', 'the wrong one');
    for (const recipient of ['415 555 2699', '+4155552699', 'the desk', '', ' ', 4155552699, {}]) {
      const refused = await retry(token, before.id, { recipient });
      assertError(refused, 422, 'VALIDATION_ERROR', 'recipient');
      assert.doesNotMatch(refused.text, /555|2699|the desk/);
    }
    const { state, recipient, reason } = await read(token, before.id);
    assert.deepEqual([state, recipient, reason], ['failed', before.recipient, before.reason]);
  });

  it('is sent by a plain retry once the merchant has a country, and fails again until then', async () => {
    const token = await deskbell.signIn();
    const { id } = await answerTo(token, '(415) 555-2691', 'the later one');
    await retry(token, id);
    const again = await read(token, id);
    assert.equal(again.state, 'failed');
    assert.ok(again.reason.includes('(415) 555-2691'), again.reason);

    await succeed(commandOf(deskbell), ['merchant', 'set', `${AURORA_ID}`, '--country', 'US']);
    assert.equal((await retry(token, id)).status, 200);
    const { state, recipient } = await read(token, id);
    assert.deepEqual([state, recipient], ['delivered', '+14155552691']);
    assert.deepEqual(await messagesAt(token, '+14155552691'), ['the later one']);
  });

  it('is not found by another merchant’s retry', async () => {
    const { id } = await answerTo(await deskbell.signIn(), '(415) 555-2671', 'not yours');
    const theirs = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const [foreign, absent] = [
      await retry(theirs, id, { recipient: '+14155552671' }),
      await retry(theirs, 999_999, { recipient: '+14155552671' }),
    ];
    assert.equal(foreign.status, 404);
    assert.equal(foreign.text, absent.text);
  });
});

onEachEngine('an answer to a number without a country code', (engine) => {
  const deskbell = useDeskbell(engine, { DEFAULT_COUNTRY: 'US' });

  it('reaches the merchant’s country, or else DEFAULT_COUNTRY', async () => {
    const token = await deskbell.signIn();
    const recipientOf = async (phone: string) => {
      const location = await raise(deskbell, token, {
        notification_type: 'user_question_request',
        conversation_id: 1,
        context: { question: 'Where?', lead_phone: phone },
      });
      await deskbell.call('POST', `${location}/answer`, { token, body: { answer: 'Here.' } });
      await deskbell.allSent();
      const { delivery } = (await deskbell.call('GET', location, { token })).json;
      const { state, recipient } = (await deskbell.call('GET', `/api/v1/delivery/${delivery.id}`, { token }))
        .json;
      return [state, recipient];
    };
    assert.deepEqual(await recipientOf('611 55 01 01'), ['delivered', '+34611550101']);
    await updateMerchant(deskbell.database, AURORA_ID, { country: null });
    assert.deepEqual(await recipientOf('(415) 555-2671'), ['delivered', '+14155552671']);
    const { json } = await deskbell.call('GET', `${NOTIFICATIONS}/?limit=1`, { token });
    assert.equal(json[0].context.lead_phone, '(415) 555-2671');
  });
});
