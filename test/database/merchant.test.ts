import assert from 'node:assert/strict';
import { it } from 'node:test';
import { WEEKDAYS } from '../../src/contract/merchant.ts';
import { run, settingsOf } from '../support/command.ts';
import { createKey } from '../support/machineKeys.ts';
import {
  addUser,
  assertError,
  BOREALIS,
  type CallOptions,
  onEachEngine,
  useDeskbell,
} from '../support/server.ts';

const MERCHANT = '/api/v1/merchant';
/** What the demo's shops have not said. The demo shows its tools. */
const UNSAID = {
  ...{ language: null, time_zone: null, opening_hours: null, quiet_hours: null, waiting_message: null },
  developer_tools: true,
};

onEachEngine('the merchant’s settings', (engine) => {
  const deskbell = useDeskbell(engine);
  const call = async (method: string, options: CallOptions = {}) =>
    deskbell.call(method, MERCHANT, { token: await deskbell.signIn(), ...options });
  const ask = async (question: string) => {
    const token = await createKey(deskbell);
    const body = { question, customer: { phone: '+34611880001' } };
    return (await deskbell.call('POST', '/api/v1/ask', { token, body })).json;
  };
  const changes = async () => {
    const token = await deskbell.signIn();
    const { json } = await deskbell.call('GET', '/api/v1/audit?what=merchant.changed', { token });
    return json.map(({ who }: { who: { kind: string } }) => who.kind);
  };

  it('an owner sets who speaks to the customers, and the next ask follows it', async () => {
    const before = (await call('GET')).json;
    assert.deepEqual(before, {
      name: 'Aurora Coffee',
      country: before.country,
      deliver: 'deskbell',
      confident: 'learned',
      ...UNSAID,
      undo_seconds: 5,
    });
    assert.equal((await ask('Who sends this?')).deliver, 'deskbell');
    const changed = await call('PATCH', { body: { deliver: 'assistant' } });
    assert.deepEqual([changed.status, changed.json], [200, { ...before, deliver: 'assistant' }]);
    assert.equal((await ask('And who sends this?')).deliver, 'assistant');
    assert.deepEqual(await changes(), ['user']);

    const other = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    assert.equal((await call('GET', { token: other })).json.deliver, 'deskbell');
    await call('PATCH', { body: { deliver: 'deskbell' } });
  });

  it('an owner changes name and country; what is not given stays', async () => {
    const changed = await call('PATCH', { body: { name: '  Café Aurora ', country: 'PT' } });
    assert.deepEqual(changed.json, {
      name: 'Café Aurora',
      country: 'PT',
      deliver: 'deskbell',
      confident: 'learned',
      ...UNSAID,
      undo_seconds: 5,
    });
    const cleared = await call('PATCH', { body: { country: null } });
    assert.deepEqual(cleared.json, {
      name: 'Café Aurora',
      country: null,
      deliver: 'deskbell',
      confident: 'learned',
      ...UNSAID,
      undo_seconds: 5,
    });
    await call('PATCH', { body: { name: 'Aurora Coffee' } });
  });

  it('others may read them, but only an owner changes them', async () => {
    const body = { deliver: 'assistant' };
    const staff = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [staff.id]);
    const token = await deskbell.signIn(staff.email, staff.password);
    assert.equal((await call('GET', { token })).status, 200);
    assertError(await call('PATCH', { token, body }), 403, 'FORBIDDEN');
    const key = await createKey(deskbell);
    assert.equal((await call('GET', { token: key })).json.deliver, 'deskbell');
    assertError(await call('PATCH', { token: key, body }), 403, 'INSUFFICIENT_SCOPE');
    const other = await createKey(deskbell, ['knowledge:read']);
    assertError(await call('GET', { token: other }), 403, 'INSUFFICIENT_SCOPE');
    assertError(await call('GET', { token: undefined }), 401, 'INVALID_TOKEN');
    assert.equal((await call('GET')).json.deliver, 'deskbell');
  });

  it('bad values are refused by field, and change nothing', async () => {
    const before = (await call('GET')).json;
    for (const [field, body] of [
      ['deliver', { name: 'Half', deliver: 'pigeon' }],
      ['deliver', {}],
      ['deliver', { unknown: true }],
      ['name', { name: '' }],
      ['name', { name: '   ' }],
      ['name', { name: 'two\nlines' }],
      ['name', { name: 'x'.repeat(201) }],
      ['country', { country: 'XX' }],
      ['country', { country: 'es' }],
      ['country', { country: 7 }],
      ['confident', { confident: 0.4 }],
      ['confident', { confident: 'sometimes' }],
    ] as const) {
      assertError(await call('PATCH', { body }), 422, 'VALIDATION_ERROR', field);
    }
    for (const [confident, detail] of [
      [0.4, 'confident must be >= 0.5'],
      [80, 'confident must be <= 1'],
    ] as const) {
      assert.equal((await call('PATCH', { body: { confident } })).json.detail, detail);
    }
    assert.deepEqual((await call('GET')).json, before);
  });

  it('the command line sets who speaks to the customers', async () => {
    const command = (...args: string[]) => run(['merchant', ...args], { env: settingsOf(deskbell) });
    const set = await command('set', '1', '--deliver', 'assistant');
    assert.match(set.stdout, /Its assistant passes the answers on\./);
    assert.equal((await call('GET')).json.deliver, 'assistant');
    assert.match((await command('list')).stdout, /Aurora Coffee .*assistant/);
    assert.equal((await changes())[0], 'operator');
    const refused = await command('set', '1', '--deliver', 'pigeon');
    assert.deepEqual([refused.code, /--deliver is deskbell or assistant/.test(refused.stderr)], [2, true]);
    assert.match((await command('set', '1', '--deliver', 'deskbell')).stdout, /Deskbell sends its answers\./);
  });

  it('the command line sets when the assistant asks a person', async () => {
    const command = (...args: string[]) => run(['merchant', ...args], { env: settingsOf(deskbell) });
    for (const [given, confident, said] of [
      ['0.85', 0.85, /From a match of 0\.85 on/],
      ['off', 'off', /always asks a person/],
      ['learned', 'learned', /is learned/],
    ] as const) {
      assert.match((await command('set', '1', '--confident', given)).stdout, said);
      assert.equal((await call('GET')).json.confident, confident);
    }
    for (const wrong of ['0.4', '1.1', 'on']) {
      const refused = await command('set', '1', '--confident', wrong);
      assert.deepEqual([refused.code, /--confident is learned, off/.test(refused.stderr)], [2, true]);
    }
  });

  it('an owner says when the shop is open, when it is quiet, and what customers hear while they wait', async () => {
    const closed = {
      monday: [],
      tuesday: [],
      wednesday: [],
      thursday: [],
      friday: [],
      saturday: [],
      sunday: [],
    };
    const said = {
      language: 'es',
      time_zone: 'Europe/Madrid',
      opening_hours: {
        ...closed,
        monday: [
          { from: '09:00', to: '14:00' },
          { from: '17:00', to: '24:00' },
        ],
      },
      quiet_hours: { from: '22:30', to: '07:00' },
      waiting_message: 'Un momento, pregunto a un compañero.',
      developer_tools: false,
    };
    const changed = await call('PATCH', { body: said });
    assert.equal(changed.status, 200, changed.text);
    for (const [field, value] of Object.entries(said)) assert.deepEqual(changed.json[field], value);
    assert.equal((await ask('What do I hear?')).waiting_message, said.waiting_message);
    const opens = `${new Date(Date.now() + 2 * 24 * 60 * 60_000).toISOString().slice(0, 10)}T12:00:00.000Z`;
    const weekday = WEEKDAYS[(new Date(opens).getUTCDay() + 6) % 7]!;
    for (const [day, periods, expected] of [
      [weekday, [{ from: '12:00', to: '13:00' }], opens],
      ['never', [], null],
    ] as const) {
      const hours = { ...closed, ...(day === 'never' ? {} : { [day]: periods }) };
      assert.equal((await call('PATCH', { body: { time_zone: 'UTC', opening_hours: hours } })).status, 200);
      assert.equal((await ask(`When do I hear, if you open ${day}?`)).opens_at, expected);
    }
    assert.deepEqual((await call('PATCH', { body: said })).json, changed.json);
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    const member = await deskbell.signIn(user.email, user.password);
    assert.deepEqual((await call('GET', { token: member })).json, changed.json);
    assertError(await call('PATCH', { token: member, body: { language: 'en' } }), 403, 'FORBIDDEN');

    const cleared = await call('PATCH', { body: { ...UNSAID } });
    for (const [field, value] of Object.entries(UNSAID)) assert.deepEqual(cleared.json[field], value);
    assert.equal((await ask('And what do I hear now?')).waiting_message, null);
  });

  it('hours that cannot be, unknown zones and languages, and long messages are refused by name', async () => {
    const day = (...monday: object[]) => ({
      ...{ monday, tuesday: [], wednesday: [], thursday: [], friday: [], saturday: [], sunday: [] },
    });
    for (const [body, field] of [
      [{ language: 'fr' }, 'language'],
      [{ time_zone: 'Mars/Olympus' }, 'time_zone'],
      [{ opening_hours: day({ from: '14:00', to: '09:00' }) }, 'opening_hours.monday'],
      [
        { opening_hours: day({ from: '09:00', to: '14:00' }, { from: '13:00', to: '15:00' }) },
        'opening_hours.monday',
      ],
      [{ quiet_hours: { from: '08:00', to: '08:00' } }, 'quiet_hours'],
      [{ waiting_message: '   ' }, 'waiting_message'],
      [{ waiting_message: 'x'.repeat(501) }, 'waiting_message'],
    ] as const) {
      const reply = await call('PATCH', { body });
      assertError(reply, 422, 'VALIDATION_ERROR', field);
    }
    const nonsense = { opening_hours: day({ from: '25:00', to: '26:00' }) };
    assert.equal((await call('PATCH', { body: nonsense })).status, 422);
    assertError(await call('PATCH', { body: { unknown: true } }), 422, 'VALIDATION_ERROR', 'deliver');
  });
});
