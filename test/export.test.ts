import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addUser, assertError, onEachEngine, raise, useDeskbell, useOwners } from './harness.ts';
import { createKey } from './machineKeys.ts';

onEachEngine('the export', (engine) => {
  const deskbell = useDeskbell(engine);
  const owners = useOwners(deskbell);
  const read = async (token: string) => {
    const reply = await deskbell.call('GET', '/api/v1/export', { token });
    assert.equal(reply.status, 200, reply.text);
    const lines = reply.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    return { reply, byType: Map.groupBy(lines, ({ type }) => type as string) };
  };

  it('has everything of the merchant, on several pages, and nothing of another', async () => {
    const { aurora: token } = owners;
    const addresses: string[] = [];
    for (let n = 0; n < 60; n += 1) addresses.push(await raise(deskbell, token));
    await deskbell.call('POST', `${addresses[0]}/answer`, { token, body: { answer: 'Yes, all of them.' } });
    const messages = Array.from({ length: 60 }, (_, n) => ({ from: 'customer', text: `Message ${n}` }));
    await deskbell.call('POST', '/api/v1/conversation/1/messages', { token, body: { messages } });
    await deskbell.allSent();
    const { reply, byType } = await read(token);
    assert.match(reply.headers.get('content-type')!, /^application\/x-ndjson/);
    assert.match(reply.headers.get('content-disposition')!, /attachment/);

    const { json: notifications } = await deskbell.call('GET', '/api/v1/notification/', { token });
    const ids = (rows: { id: number }[]) => rows.map(({ id }) => id).sort((a, b) => a - b);
    assert.deepEqual(ids(byType.get('notification')!), ids(notifications));
    const [answered] = byType.get('notification')!.filter(({ id }) => addresses[0]!.endsWith(`/${id}`));
    assert.equal(answered.answer.answer, 'Yes, all of them.');
    assert.equal(answered.answered_by, 'Alma Reyes');
    assert.equal(byType.get('merchant')![0].name, 'Aurora Coffee');
    assert.deepEqual(ids(byType.get('conversation')!), [1, 2, 3]);
    assert.ok(byType.get('message')!.length >= 60);
    for (const type of ['user', 'document', 'document_version', 'delivery'])
      assert.ok(byType.get(type)!.length > 0, type);
    assert.doesNotMatch(reply.text, /password_hash|argon2|Borealis/);

    const other = await read(owners.borealis);
    assert.doesNotMatch(other.reply.text, /Aurora|all of them/);
    const [event] = (await deskbell.call('GET', '/api/v1/audit?what=merchant.exported', { token })).json;
    assert.equal(event.who.kind, 'user');
  });

  it('is only for owners', async () => {
    const user = await addUser(deskbell);
    await deskbell.database.run(`update users set role = 'user' where id = $1`, [user.id]);
    const member = await deskbell.signIn(user.email, user.password);
    assertError(await deskbell.call('GET', '/api/v1/export', { token: member }), 403, 'FORBIDDEN');
    const key = await createKey(deskbell);
    assertError(await deskbell.call('GET', '/api/v1/export', { token: key }), 403, 'INSUFFICIENT_SCOPE');
  });
});
