import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run, settingsOf } from './command.ts';
import { addUser, assertError, BOREALIS, type CallOptions, onEachEngine, useDeskbell } from './harness.ts';
import { createKey } from './machineKeys.ts';

const MERCHANT = '/api/v1/merchant';

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
      undo_seconds: 5,
    });
    const cleared = await call('PATCH', { body: { country: null } });
    assert.deepEqual(cleared.json, {
      name: 'Café Aurora',
      country: null,
      deliver: 'deskbell',
      confident: 'learned',
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
});
