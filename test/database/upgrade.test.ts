import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { openServer, type Server } from '../../src/server.ts';
import { run } from '../support/command.ts';
import type { TestDatabase } from '../support/databases.ts';
import { call, NOTIFICATIONS, onEachEngine, SENDING } from '../support/server.ts';
import { type Meta, metaEnv, startMeta } from '../support/stand-ins/meta.ts';
import { createOldDatabase, type OldVersion } from '../support/upgrades/database.ts';

const OWNER = 'owner@nordlicht.example';
const HOUR_MS = 3_600_000;
/** The same to the byte. */
const LISTS = [
  `${NOTIFICATIONS}/`,
  `${NOTIFICATIONS}/?status=requested`,
  '/api/v1/knowledge/',
  '/api/v1/limits',
];
/** What the changelog announces: roles, and how a message that waits for another one is described. */
const CHANGED = [
  /^\/api\/v1\/auth\/me role user$/,
  / reason It goes out after /,
  /delivery\/(9| 1) next_try_at/,
];

onEachEngine('a filled database of version 0.1.0', (engine) => {
  let testDatabase: TestDatabase;
  let old: OldVersion;
  let meta: Meta;
  let server: Server;
  let url: string;
  let env: Record<string, string>;
  const now = () => new Date(Date.parse(old.takenAt) + HOUR_MS);
  const tokens: Record<string, string> = {};
  before(async () => {
    [testDatabase, old] = await createOldDatabase(engine);
    meta = await startMeta({ now });
    for (const { to } of old.queued) await meta.customerWrites(to);
    env = { ...testDatabase.env, ...metaEnv(meta, { CHANNEL_DAILY_LIMIT: '1' }) };
    const config = readConfig({
      ...{ ...env, PORT: '0', RATE_LIMIT_PER_MINUTE: '0', WORKER: 'false' },
      // Many tests share the machine: its speed must not decide.
      ...{ REQUEST_DEADLINE_SECONDS: '30', OVERLOAD_DELAY_MS: '0' },
    });
    // Everything that it shows must be the same before the new version sends anything.
    server = await openServer(config, createLogger({ logLevel: 'error', logPretty: false }), now);
    url = await server.app.listen({ host: '127.0.0.1', port: 0 });
    for (const [email, password] of Object.entries(old.passwords)) {
      const reply = await call(url, 'POST', '/api/v1/auth/login', { body: { email, password } });
      assert.equal(reply.status, 200, `${email}: ${reply.text}`);
      tokens[email] = reply.json.access_token;
    }
  });
  after(async () => {
    await server?.close();
    await meta?.close();
    await testDatabase?.remove();
  });

  it('shows everything that was there, as it was', async () => {
    for (const [email, shown] of Object.entries(old.shown)) {
      for (const [path, before] of Object.entries(shown)) {
        const { status, json, text } = await call(url, 'GET', path, { token: tokens[email] });
        assert.equal(status, 200, path);
        if (LISTS.includes(path)) assert.equal(text, before, path);
        assertContains(json, JSON.parse(before), path);
      }
    }
  });

  it('knows its sessions: open ones go on, ended ones stay ended', async () => {
    const me = await call(url, 'GET', '/api/v1/auth/me', { token: tokens[OWNER] });
    assert.equal(me.json.role, 'owner');
    const refresh = (refresh_token: string) =>
      call(url, 'POST', '/api/v1/auth/refresh', { body: { refresh_token } });
    assert.equal((await refresh(old.refreshToken)).status, 200);
    assert.equal((await refresh(old.endedRefreshToken)).status, 401);
  });

  it('still knows what was done under an Idempotency-Key', async () => {
    const body = {
      notification_type: 'user_question_request',
      conversation_id: 1,
      context: { question: 'Do you have decaf tea?', lead_phone: '+34611550101', price: 4.5, note: 'ü' },
    };
    const options = { token: tokens[OWNER], body, headers: { 'idempotency-key': 'raise-1' } };
    const reply = await call(url, 'POST', `${NOTIFICATIONS}/request`, options);
    assert.equal(reply.headers.get('idempotency-replayed'), 'true');
    assert.equal(reply.headers.get('location'), `${NOTIFICATIONS}/1`);
  });

  it('opens the merchants’ own channels with the same key', async () => {
    const { json } = await run(['channel', 'show', '--merchant', '2', '--json'], { env });
    assert.equal(json.channel, 'webhook', JSON.stringify(json));
  });

  it('has its messages sent, each once and in order, by the first worker', async () => {
    await server.close();
    const config = readConfig({ ...env, PORT: '0' });
    server = await openServer(config, createLogger({ logLevel: 'error', logPretty: false }), now);
    await server.background.idle(SENDING);
    const sent = meta.accepted.map(({ to, content }) => ({ to, content }));
    for (const to of new Set(old.queued.map((message) => message.to))) {
      const own = ({ to: recipient }: { to: string }) => recipient === to;
      assert.deepEqual(sent.filter(own).slice(0, old.queued.filter(own).length), old.queued.filter(own));
    }
    assert.equal(new Set(meta.accepted.map(({ key }) => key)).size, meta.accepted.length);
    const open = await server.database.all<{ id: number; state: string }>(
      `select id, state from deliveries where id <= 11 and state not in ('sent', 'delivered', 'read') order by id`,
    );
    // Refused by WhatsApp, and over the limit of the day.
    assert.deepEqual(
      open.map(({ id, state }) => [id, state]),
      [
        [4, 'failed'],
        [6, 'waiting'],
      ],
    );
  });
});

/** Fields may have been added. */
function assertContains(value: unknown, before: unknown, path: string): void {
  if (typeof before !== 'object' || before === null) {
    if (!CHANGED.some((pattern) => pattern.test(`${path} ${before}`))) assert.equal(value, before, path);
    return;
  }
  if (Array.isArray(before)) assert.equal((value as unknown[]).length, before.length, path);
  for (const [key, part] of Object.entries(before)) {
    assertContains((value as Record<string, unknown>)[key], part, `${path} ${key}`);
  }
}
