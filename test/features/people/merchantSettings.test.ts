import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WEEKDAYS } from '../../../src/contract/merchant.ts';
import { run, settingsOf } from '../../support/command.ts';
import { type Merchant, useMerchant } from '../../support/merchants.ts';
import { assertError, onEachEngine } from '../../support/server.ts';

/** The settings of a merchant, and what the next ask of its assistant makes of them. */
const NEW = {
  ...{ name: 'A shop', country: null, deliver: 'deskbell', confident: 'learned', undo_seconds: 5 },
  ...{ language: null, time_zone: null, opening_hours: null, quiet_hours: null, waiting_message: null },
  developer_tools: false,
};
const DAY_MS = 24 * 60 * 60_000;
const CLOSED = Object.fromEntries(WEEKDAYS.map((day) => [day, []]));

const set = (shop: Merchant, body: object) => shop.patch('/merchant', body);
const read = async (shop: Merchant) => (await shop.get('/merchant')).json;
const ask = async (shop: Merchant, question: string) => {
  const customer = { phone: '+34611880001' };
  return (await shop.post('/ask', { question, customer }, { token: await shop.key() })).json;
};
const changes = async (shop: Merchant) =>
  (await shop.get('/audit?what=merchant.changed')).json.map(({ who }: { who: { kind: string } }) => who.kind);
const command = (shop: Merchant, ...args: string[]) =>
  run(['merchant', 'set', String(shop.id), ...args], { env: settingsOf(shop.deskbell) });

onEachEngine('the merchant’s settings', (engine) => {
  const shop = useMerchant(engine);
  const other = useMerchant(engine);

  it('an owner changes some of them, and the next ask follows; what is not given stays', async () => {
    assert.deepEqual(await read(shop), NEW);
    assert.equal((await ask(shop, 'Who sends this?')).deliver, 'deskbell');
    const changed = { ...NEW, deliver: 'assistant', name: 'Café Aurora', country: 'PT' };
    await set(shop, { deliver: 'assistant' });
    assert.deepEqual((await set(shop, { name: '  Café Aurora ', country: 'PT' })).json, changed);
    assert.equal((await ask(shop, 'And who sends this?')).deliver, 'assistant');
    assert.deepEqual(await changes(shop), ['user', 'user']);
    assert.deepEqual(await read(other), NEW);
    assert.deepEqual((await set(shop, NEW)).json, NEW);
  });

  it('an owner says when the shop is open, when it is quiet, and what customers hear while they wait', async () => {
    const waiting_message = 'Un momento, pregunto a un compañero.';
    const quiet_hours = { from: '22:30', to: '07:00' };
    const said = { language: 'es', time_zone: 'UTC', opening_hours: CLOSED, quiet_hours, waiting_message };
    assert.deepEqual((await set(shop, said)).json, { ...NEW, ...said });
    const { waiting_message: heard, opens_at } = await ask(shop, 'What do I hear?');
    assert.deepEqual([heard, opens_at], [waiting_message, null]);
    const opens = `${new Date(Date.now() + 2 * DAY_MS).toISOString().slice(0, 10)}T12:00:00.000Z`;
    const weekday = WEEKDAYS[(new Date(opens).getUTCDay() + 6) % 7]!;
    await set(shop, { opening_hours: { ...CLOSED, [weekday]: [{ from: '12:00', to: '13:00' }] } });
    assert.equal((await ask(shop, 'When do I hear?')).opens_at, opens);
    assert.deepEqual((await set(shop, NEW)).json, NEW);
    assert.equal((await ask(shop, 'And what do I hear now?')).waiting_message, null);
  });

  it('the command line sets who speaks to the customers, and when the assistant asks a person', async () => {
    for (const [option, given, expected, said] of [
      ['deliver', 'assistant', 'assistant', /Its assistant passes the answers on\./],
      ['deliver', 'deskbell', 'deskbell', /Deskbell sends its answers\./],
      ['confident', '0.85', 0.85, /From a match of 0\.85 on/],
      ['confident', 'learned', 'learned', /is learned/],
    ] as const) {
      assert.match((await command(shop, `--${option}`, given)).stdout, said);
      assert.equal((await read(shop))[option], expected);
    }
    // By count: the command's clock is not the server's, so the order may be another one.
    assert.equal((await changes(shop)).filter((kind: string) => kind === 'operator').length, 4);
  });
});

describe('the merchant’s settings are refused', () => {
  const shop = useMerchant('sqlite');

  it('to anybody but an owner: others may read them', async () => {
    const body = { deliver: 'assistant' };
    const { token } = await shop.colleague();
    assert.deepEqual((await shop.get('/merchant', { token })).json, NEW);
    assertError(await shop.patch('/merchant', body, { token }), 403, 'FORBIDDEN');
    const key = { token: await shop.key() };
    assert.deepEqual((await shop.get('/merchant', key)).json, NEW);
    assertError(await shop.patch('/merchant', body, key), 403, 'INSUFFICIENT_SCOPE');
    const reader = { token: await shop.key('knowledge:read') };
    assertError(await shop.get('/merchant', reader), 403, 'INSUFFICIENT_SCOPE');
    assert.deepEqual(await read(shop), NEW);
  });

  it('with values that cannot be, by field', async () => {
    const day = (...monday: object[]) => ({ opening_hours: { ...CLOSED, monday } });
    for (const [field, body] of [
      ['deliver', { name: 'Half', deliver: 'pigeon' }],
      ['deliver', {}],
      ['name', { name: '   ' }],
      ['name', { name: 'two\nlines' }],
      ['name', { name: 'x'.repeat(201) }],
      ['country', { country: 'XX' }],
      ['confident', { confident: 0.4 }],
      ['confident', { confident: 'sometimes' }],
      ['language', { language: 'fr' }],
      ['time_zone', { time_zone: 'Mars/Olympus' }],
      ['opening_hours.monday', day({ from: '14:00', to: '09:00' })],
      ['opening_hours.monday', day({ from: '09:00', to: '14:00' }, { from: '13:00', to: '15:00' })],
      ['quiet_hours', { quiet_hours: { from: '08:00', to: '08:00' } }],
      ['waiting_message', { waiting_message: '   ' }],
      ['waiting_message', { waiting_message: 'x'.repeat(501) }],
    ] as const)
      assertError(await set(shop, body), 422, 'VALIDATION_ERROR', field);
    assert.equal((await set(shop, day({ from: '25:00', to: '26:00' }))).status, 422);
    const { code, stderr } = await command(shop, '--deliver', 'pigeon');
    assert.equal(code, 2);
    assert.match(stderr, /--deliver is deskbell or assistant/);
    assert.deepEqual(await read(shop), NEW);
  });
});
