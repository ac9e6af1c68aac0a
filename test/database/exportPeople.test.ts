import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { lineIn } from '../../src/export/sections.ts';
import { TABLES } from '../../src/tables.ts';
import { addColleague } from '../support/colleagues.ts';
import { run, settingsOf } from '../support/command.ts';
import { callsOf } from '../support/erasing.ts';
import { createKey } from '../support/machineKeys.ts';
import { OPERATOR, onEachEngine, raise, useDeskbell } from '../support/server.ts';

const typesOf = (of: 'customer' | 'user') => TABLES.flatMap((table) => lineIn(table, of) ?? []).sort();

onEachEngine('an export of one person', (engine) => {
  const deskbell = useDeskbell(engine, { ACCESS_TOKEN_TTL_SECONDS: '86400' });
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-people-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function exported(command: string, subject: string, ...options: string[]) {
    const file = join(folder, `${subject}.jsonl`);
    const { code, stderr } = await run([command, 'export', subject, file, ...options], {
      env: settingsOf(deskbell),
    });
    assert.equal(code, 0, stderr);
    const text = readFileSync(file, 'utf8');
    const lines = text.trim().split('\n');
    const rows = lines.map((line) => JSON.parse(line));
    return { text, byType: Map.groupBy(rows, ({ type }) => type as string) };
  }
  const caller = (token: string) => async (method: string, path: string, body?: object) => {
    const reply = await deskbell.call(method, `/api/v1${path}`, { token, ...(body ? { body } : {}) });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`);
    return reply.json;
  };

  it('has every table about a customer, and nothing of another customer', async () => {
    const { database, clock } = deskbell;
    const { ok, answered, conversation } = callsOf(deskbell);
    const assistant = caller(await createKey(deskbell));
    const [phone, another] = ['+34611009922', '+34611009933'];
    const id = await conversation('zqx-1', phone, 'Zqxana Zqxruiz');
    const other = await conversation('zqx-2', phone, 'Zqxana Zqxruiz');
    const stranger = await conversation('str-1', another, 'Stranger');
    const at = clock.now().toISOString();
    for (const [conversationId, word, number] of [
      [id, 'zqx', phone],
      [stranger, 'strange', another],
    ] as const) {
      const asking = { question: `Do you sell ${word}beans in boxes?`, conversation_id: conversationId };
      const asked = await assistant('POST', '/ask', asking);
      await ok('POST', `/notification/${asked.id}/notes`, { text: `${word}note` });
      await ok('POST', `/notification/${asked.id}/answer`, { answer: `Yes, ${word}answer in every size.` });
      assert.equal((await assistant('POST', '/ask', asking)).status, 'known');
      const message = { from: 'customer', text: `${word}message` };
      await ok('POST', `/conversation/${conversationId}/messages`, message);
      await database.run(
        `insert into wrong_phones (merchant_id, conversation_id, phone, replaced_by, created_at)
          values (1, $1, $2, $3, $4)`,
        [conversationId, `${number}9`, number, at],
      );
      await database.run(
        `insert into customer_windows (channel_id, phone, opened_at) values ('simulator', $1, $2)`,
        [number, at],
      );
    }
    // A question about a document that exists adds a wording to it.
    const grinders = { title: 'Our grinders', body: 'They are steel.' };
    const document_id = (await ok('POST', '/knowledge/', grinders)).json.id;
    await answered(other, { question: 'zqxgrinder of steel?', document_id }, { answer: 'Of stone now.' });
    await answered(other, { question: 'zqxcampaign?' }, { answer: 'Soon.', only_send_campaign: true });
    await deskbell.allSent();

    const { text, byType } = await exported('conversation', String(id), '--merchant', '1');
    assert.deepEqual([...byType.keys()].sort(), typesOf('customer'));
    assert.equal(byType.get('conversation')!.length, 2);
    assert.doesNotMatch(text, /strange|611009933/i);
    assert.equal(byType.get('wrong_phone')![0].phone, `${phone}9`);
    assert.match(JSON.stringify(byType.get('recognition')), /zqxbeans/);
    assert.match(JSON.stringify(byType.get('wording')), /zqxgrinder/);
    const test = byType.get('test_phone_message')!.map(({ content }) => content);
    assert.deepEqual(test.sort(), ['Of stone now.', 'Soon.', 'Yes, zqxanswer in every size.']);
  });

  it('has every table about a colleague, without secrets', async () => {
    const { database, clock } = deskbell;
    const teo = await addColleague(deskbell, 'Teo Vidal', 'owner');
    const call = caller(teo.token);
    const assistant = caller(await createKey(deskbell));
    for (const insert of [
      `totp_secrets (user_id, sealed_secret, created_at) values ($1, 'zqxsealed', $2)`,
      `passkeys (user_id, credential_id, public_key, counter, transports, name, created_at)
        values ($1, 'zqxcredential', 'zqxkey', 0, '[]', 'My phone', $2)`,
      `push_subscriptions (merchant_id, user_id, fingerprint, sealed, language, created_at)
        values (1, $1, 'zqxprint', 'zqxdevice', 'en', $2)`,
    ])
      await database.run(`insert into ${insert}`, [teo.id, clock.now().toISOString()]);
    await call('PATCH', '/alerts/settings', { email_after_minutes: 10 });
    await call('POST', '/invites', { role: 'user', email: 'new@aurora.example' });
    const address = (await raise(deskbell, teo.token)).replace('/api/v1', '');
    await call('POST', `${address}/notes`, { text: 'I look.' });
    await call('POST', `${address}/answer`, { answer: 'Yes, by Teo.' });
    const content = { title: 'Which cups fit our lids?', body: 'All of them do.' };
    const document = await call('POST', '/knowledge/', content);
    await call('POST', `/knowledge/${document.id}/wordings`, { text: 'Do your lids fit?' });
    const known = await assistant('POST', '/ask', {
      ...{ question: content.title, customer: { phone: '+34611550144' } },
    });
    assert.equal(known.status, 'known');
    const [row] = await database.all<{ id: number }>(
      `select id from recognitions where merchant_id = 1 and kind = 'known' order by id desc limit 1`,
    );
    await call('PUT', `/knowledge/known/${row!.id}/outcome`, { outcome: 'right' });
    const removed = await call('POST', '/knowledge/', { title: 'Old', body: 'Gone soon.' });
    await call('DELETE', `/knowledge/${removed.id}`);

    const { text, byType } = await exported('user', teo.email);
    assert.deepEqual([...byType.keys()].sort(), typesOf('user'));
    assert.doesNotMatch(text, /zqx|password|token_hash|argon2/);
    const [user] = byType.get('user')!;
    assert.deepEqual([user.id, user.name, user.email], [teo.id, 'Teo Vidal', teo.email]);
    assert.deepEqual(byType.get('answer')![0].answer, { answer: 'Yes, by Teo.' });
    const theirs = await exported('user', 'owner@borealis.example');
    assert.doesNotMatch(theirs.text, /Teo/);
  });

  it('has an operator, who belongs to no merchant', async () => {
    await deskbell.signIn(OPERATOR.email, OPERATOR.password);
    const { byType } = await exported('user', OPERATOR.email);
    const [user] = byType.get('user')!;
    assert.deepEqual([user.email, user.role, user.merchant_id], [OPERATOR.email, 'admin', null]);
    assert.ok(byType.get('session')!.length > 0);
    assert.ok(byType.get('audit_event')!.length > 0);
  });
});
