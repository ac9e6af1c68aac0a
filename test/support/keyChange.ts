import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openVault } from '../../src/auth/vault.ts';
import type { MerchantId } from '../../src/contract/ids.ts';
import type { Engine } from '../../src/database/database.ts';
import { WEBHOOK } from '../../src/delivery/channels/registry.ts';
import { setOwnChannel } from '../../src/delivery/channels/settings.ts';
import { enqueueMail } from '../../src/mail/queue.ts';
import { newSecretKey, readOrMakeSecretKey } from '../../src/secrets.ts';
import { run, settingsOf } from './command.ts';
import { createDemoDatabase, type TestDatabase } from './databases.ts';
import {
  Authenticator,
  addPasskey,
  addUserWithTotp,
  atLocalhost,
  codeOf,
  loginWith,
  signInWithPasskey,
} from './factors.ts';
import { createKey } from './machineKeys.ts';
import { isGenuine, type Receiver, startReceiver } from './receiver.ts';
import { type Deskbell, login, me, raise, refresh, startDeskbell } from './server.ts';
import { until } from './shops.ts';
import { startPushService } from './stand-ins/push.ts';

/** How often servers look at each other's keys, and workers at what is left. */
const KEY_CHECK_MS = 20;
const SECRET = `whsec_${Buffer.alloc(24, 'channel').toString('base64')}`;
export const ENOUGH_MS = 60_000;

export const isDone = ({ logged }: Deskbell) => logged.some((line) => line.includes('can be removed'));

/** A database with something of each kind that is encrypted, and servers on it with different keys. */
export async function prepare(engine: Engine) {
  const testDatabase = await createDemoDatabase(engine, 'weak');
  const running = new Set<Deskbell>();
  const receiver = await startReceiver();
  receiver.answer = (response) => response.writeHead(204).end();
  const push = await startPushService();
  const keys = {
    old: testDatabase.env.SECRET_KEY ?? readOrMakeSecretKey(join(testDatabase.env.DATA_DIR!, 'secret.key')),
    new: newSecretKey(),
  };
  const both = { SECRET_KEY: keys.new, SECRET_KEY_PREVIOUS: keys.old };
  const start = async (secrets: Record<string, string>, otherEnv: Record<string, string> = {}) => {
    const { SECRET_KEY: _, ...env } = testDatabase.env;
    const shared: TestDatabase = { env: { ...env, ...otherEnv }, async remove() {} };
    // Signed-in people stay signed in, whatever the clock of the next server says.
    const settings = { ...secrets, ACCESS_TOKEN_TTL_SECONDS: '86400', PUSH_ALLOW_PRIVATE: 'true' };
    const deskbell = await startDeskbell(engine, settings, shared, { keyCheckEveryMs: KEY_CHECK_MS });
    running.add(deskbell);
    return deskbell;
  };
  const stop = async (deskbell: Deskbell) => {
    running.delete(deskbell);
    await deskbell.close();
  };
  const close = async () => {
    for (const deskbell of running) await deskbell.close();
    await receiver.close();
    await push.close();
    await testDatabase.remove();
  };
  const only = (key: string) => ({ SECRET_KEY: key });
  return { env: testDatabase.env, start, stop, close, keys, both, receiver, push, only };
}

export type Prepared = Awaited<ReturnType<typeof prepare>>;

/** A code works once, on all servers together: the next one is that of the next half minute. */
let secondsPassed = 0;
const clocks = new WeakMap<Deskbell, number>();
export async function nextCode(deskbell: Deskbell): Promise<void> {
  secondsPassed += 30;
  await deskbell.clock.advance(secondsPassed - (clocks.get(deskbell) ?? 0));
  clocks.set(deskbell, secondsPassed);
}

/** What people and programs have before the change. */
export async function use(deskbell: Deskbell, { receiver, push }: Prepared) {
  const { database, config, clock } = deskbell;
  secondsPassed = 0;
  const key = await createKey(deskbell);
  const owner = (await login(deskbell)).json;
  const user = await addUserWithTotp(deskbell);
  const local = atLocalhost(deskbell);
  const authenticator = new Authenticator(local.url);
  const passwords = { token: owner.access_token as string, password: 'aurora-demo' };
  assert.equal((await addPasskey(local, authenticator, passwords)).status, 200);
  const settings = { url: `${receiver.url}/channel`, secret: SECRET, allowPrivate: true };
  await setOwnChannel(database, openVault(config), 1 as MerchantId, { type: WEBHOOK, settings }, clock.now());
  const call = ofOwner(deskbell, owner.access_token);
  const hook = await call('POST', '/webhooks', {
    url: `${receiver.url}/hook`,
    events: ['notification.answered'],
  });
  const browser = push.browser();
  await call('PUT', '/alerts/subscriptions', { ...browser, language: 'en' });
  await call('GET', '/alerts/key');
  const mail = { kind: 'alert', to: 'me@shop.example', subject: 'x', text: 'y', at: clock.now() } as const;
  await database.transaction((tx) => enqueueMail(tx, openVault(config), 1, mail));
  return { owner, user, authenticator, key, hookSecret: hook.json.secret, browser };
}

const ofOwner =
  ({ call }: Deskbell, token: string) =>
  async (method: string, path: string, body?: object) => {
    const reply = await call(method, `/api/v1${path}`, { token, body });
    assert.equal(reply.status, 200, `${path}: ${reply.text}`);
    return reply;
  };

/** All of it still works on this server. `used` has the tokens of a new session then. */
export async function check(
  deskbell: Deskbell,
  used: Awaited<ReturnType<typeof use>>,
  receiver: Receiver,
): Promise<void> {
  const { owner, user, authenticator, key, hookSecret, browser } = used;
  assert.equal((await me(deskbell, owner.access_token)).status, 200, 'the access token');
  const renewed = await refresh(deskbell, owner.refresh_token);
  assert.equal(renewed.status, 200, `the refresh token: ${renewed.text}`);
  used.owner = { ...owner, ...renewed.json };
  await nextCode(deskbell);
  const signedIn = await loginWith(deskbell, user, codeOf(deskbell, user.secret));
  assert.equal(signedIn.status, 200, `the authenticator app: ${signedIn.text}`);
  authenticator.origin = atLocalhost(deskbell).url;
  assert.equal((await signInWithPasskey(atLocalhost(deskbell), authenticator)).status, 200, 'the passkey');
  const asked = await deskbell.call('GET', '/api/v1/knowledge/find?q=Beans', { token: key });
  assert.equal(asked.status, 200, `the machine key: ${asked.text}`);
  receiver.received = [];
  const call = ofOwner(deskbell, used.owner.access_token);
  const address = await raise(deskbell, used.owner.access_token);
  await call('POST', `${address.replace('/api/v1', '')}/answer`, { answer: 'Yes.' });
  const called = () => new Set(receiver.received.map(({ path }) => path)).size;
  await until('both are called', () => called() === 2, ENOUGH_MS);
  for (const call of receiver.received) {
    assert.ok(isGenuine(call, call.path.endsWith('/hook') ? hookSecret : SECRET), `${call.path} is signed`);
  }
  await call('PUT', '/alerts/subscriptions', { ...browser, language: 'en' });
  const devices = await deskbell.database.all('select id from push_subscriptions where merchant_id = 1');
  assert.equal(devices.length, 1, 'the browser is still one device');
}

export const status = async (deskbell: Deskbell, secrets: Record<string, string>) => {
  const { SECRET_KEY: _, ...env } = settingsOf(deskbell);
  const { json } = await run(['keys', 'status', '--json'], { env: { ...env, ...secrets } });
  return json as {
    total: Record<string, number>;
    previous_needed: boolean;
    summary: string;
    rows: unknown[];
  };
};
