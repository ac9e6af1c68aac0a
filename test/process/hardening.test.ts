import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { freePort } from '../../scripts/services.ts';
import { SERVER } from '../../src/audit/record.ts';
import { createPasswords } from '../../src/auth/passwords/passwords.ts';
import { insertUser } from '../../src/auth/users.ts';
import { readConfig } from '../../src/config.ts';
import { openSqlite } from '../../src/database/sqlite.ts';
import { createLogger } from '../../src/log.ts';
import { createVault, newSecretKey, VaultError } from '../../src/secrets.ts';
import { openServer } from '../../src/server.ts';
import { run } from '../support/command.ts';
import { createTestDatabase } from '../support/databases.ts';
import { newFolder, root } from '../support/process.ts';
import {
  assertError,
  type Deskbell,
  onEachEngine,
  type Reply,
  startDeskbell,
  useDeskbell,
} from '../support/server.ts';

const PRODUCTION = { NODE_ENV: 'production', DEMO: 'false', TRUST_PROXY: '1' };
const USER = { email: 'alma@shop.example', password: 'quiet lemon harbour' };
const FORMER = 'deskbell_refresh';
const NOBODY = 65_534;
const NAME = '__Host-deskbell_refresh';

onEachEngine('a server in production', (engine) => {
  const deskbell = useDeskbell(engine, PRODUCTION);
  before(async () => {
    const passwordHash = await createPasswords(1).hash(USER.password);
    const user = { merchantId: null, email: USER.email, name: 'Alma', role: 'admin' as const };
    await deskbell.database.transaction((tx) =>
      insertUser(tx, { ...user, passwordHash, at: new Date() }, SERVER),
    );
  });
  const session = (endpoint: string, cookie = '', body?: unknown) =>
    deskbell.call('POST', `/session/${endpoint}`, { body, headers: { 'x-deskbell-dashboard': '1', cookie } });
  const signIn = async () => (await session('login', '', USER)).headers.getSetCookie()[0]!;

  it('sets a cookie that needs TLS and belongs to this host alone', async () => {
    const [pair, ...attributes] = (await signIn()).split('; ');
    assert.match(pair!, new RegExp(`^${NAME}=[\\w-]+\\.[\\w-]+\\.[\\w-]+$`));
    assert.deepEqual(attributes.sort(), [
      'HttpOnly',
      `Max-Age=${30 * 86_400}`,
      'Path=/',
      'SameSite=Strict',
      'Secure',
    ]);
    const renewed = await session('refresh', pair);
    assert.equal(renewed.status, 200, renewed.text);
  });

  it('ignores the cookie of an earlier version, which another host could have set, and removes it', async () => {
    const token = (await signIn()).split('; ')[0]!.split('=')[1]!;
    const refused = await session('refresh', `${FORMER}=${token}`);
    assertError(refused, 401, 'INVALID_TOKEN');
    assert.match(refused.headers.getSetCookie().join(), new RegExp(`${FORMER}=; Max-Age=0; Path=/session;`));
    assert.equal((await session('refresh', `${NAME}=${token}`)).status, 200);
    const out = await session('logout', `${NAME}=${token}`);
    assert.match(out.headers.getSetCookie().join(), new RegExp(`^${NAME}=; Max-Age=0; Path=/; `));
  });

  it('asks browsers that came over TLS to use only TLS', async () => {
    const hsts = async (headers: Record<string, string>) =>
      (await deskbell.call('GET', '/healthz', { headers })).headers.get('strict-transport-security');
    assert.equal(await hsts({ 'x-forwarded-proto': 'https' }), 'max-age=31536000');
    assert.equal(await hsts({}), null);
  });

  it('gives its metrics only to its own machine, if no token or port is set', async () => {
    assert.equal((await deskbell.call('GET', '/metrics')).status, 200);
    for (const header of ['x-forwarded-for', 'forwarded']) {
      const headers = { [header]: '203.0.113.9' };
      assertError(await deskbell.call('GET', '/metrics', { headers }), 403, 'FORBIDDEN');
    }
  });
});

describe('the metrics and the docs', () => {
  const withServer = async (
    settings: Record<string, string>,
    work: (deskbell: Deskbell) => Promise<void>,
  ) => {
    const deskbell = await startDeskbell('sqlite', settings);
    await work(deskbell).finally(() => deskbell.close());
  };

  it('METRICS_TOKEN is required as bearer token', () =>
    withServer({ METRICS_TOKEN: 'a-token-for-metrics' }, async (deskbell) => {
      const metrics = (token?: string): Promise<Reply> => deskbell.call('GET', '/metrics', { token });
      assertError(await metrics(), 401, 'INVALID_TOKEN');
      assertError(await metrics('another-token-for-metrics'), 401, 'INVALID_TOKEN');
      assertError(await metrics(await deskbell.signIn()), 401, 'INVALID_TOKEN');
      assert.match((await metrics('a-token-for-metrics')).text, /deskbell_http_requests_total/);
    }));

  it('METRICS_PORT serves them there and nowhere else', async () => {
    const port = await freePort();
    await withServer({ METRICS_PORT: String(port) }, async (deskbell) => {
      assertError(await deskbell.call('GET', '/metrics'), 404, 'NOT_FOUND');
      const response = await fetch(`http://127.0.0.1:${port}/metrics`);
      assert.match(await response.text(), /deskbell_http_requests_total/);
      assert.equal((await fetch(`http://127.0.0.1:${port}/api/v1/auth/me`)).status, 404);
    });
    await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`));
  });

  it('a METRICS_PORT that is taken at the last moment stops the start', async () => {
    const testDatabase = await createTestDatabase('sqlite');
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const config = readConfig({ ...testDatabase.env, PORT: '0', METRICS_PORT: String(port) });
    const server = await openServer(config, createLogger({ logLevel: 'silent', logPretty: false }));
    try {
      await assert.rejects(server.app.listen({ host: config.host, port: 0 }), { code: 'EADDRINUSE', port });
    } finally {
      await server.close();
      other.close();
      await testDatabase.remove();
    }
  });

  it('DOCS=false turns the docs off', () =>
    withServer({ DOCS: 'false' }, async (deskbell) => {
      const { text, headers } = await deskbell.call('GET', '/');
      assert.match(text, /<html[^>]* data-docs="off"/);
      assert.match(headers.get('content-security-policy')!, /script-src 'self'/);
      for (const path of ['/docs', '/docs/scalar.js', '/docs/api.md', '/openapi.json', '/llms.txt']) {
        assertError(await deskbell.call('GET', path), 404, 'NOT_FOUND');
      }
    }));

  it('/llms.txt leads language models to the docs of this server', () =>
    withServer({}, async (deskbell) => {
      const { text, headers } = await deskbell.call('GET', '/llms.txt');
      assert.match(headers.get('content-type')!, /^text\/plain/);
      assert.match(text, /^# Deskbell\n\n> \S.*\n/);
      const links = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, path]) => path!);
      assert.ok(links.includes('/docs/assistant.md') && links.includes('/openapi.json'), text);
      for (const path of links) assert.equal((await deskbell.call('GET', path)).status, 200, path);
      const page = await deskbell.call('GET', '/docs/assistant.md');
      assert.match(page.headers.get('content-type')!, /^text\/markdown/);
      assert.equal(page.text, readFileSync(join(root, 'docs/assistant.md'), 'utf8'));
    }));

  it('the docs keep no token in the browser', () =>
    withServer({}, async (deskbell) => {
      assert.match((await deskbell.call('GET', '/docs')).text, /persistAuth: false/);
    }));

  for (const settings of [{ METRICS_TOKEN: 'short' }, { METRICS_PORT: '8000' }, { DOCS: 'maybe' }]) {
    it(`refuses ${JSON.stringify(settings)}`, () =>
      assert.throws(() => readConfig(settings), new RegExp(`^Error: ${Object.keys(settings)[0]} must `)));
  }
});

describe('the data folder', () => {
  const modes = (folder: string) =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]));

  it('has only files that their owner alone can read, whatever the mode of the folder', async () => {
    const folder = join(newFolder(), 'open');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const shared = { env: { DATA_DIR: folder }, async remove() {} };
    await (await startDeskbell('sqlite', {}, shared)).close();
    const files = ['deskbell.db', 'secret.key', 'server.lock', 'turn.lock'];
    for (const name of files) assert.equal(modes(folder)[name], 0o600, name);

    // An earlier version has created them with other modes. `doctor` finds it, and the next start corrects it.
    for (const name of files) chmodSync(join(folder, name), 0o644);
    const { code, stdout } = await run(['doctor'], { env: { DATA_DIR: folder, PORT: '0' } });
    assert.equal(code, 1, stdout);
    for (const name of files)
      assert.match(stdout, new RegExp(`✖ Other users .* ${join(folder, name)}\\.\n +Run chmod 600`));
    const deskbell = await startDeskbell('sqlite', {}, shared);
    try {
      await deskbell.signIn();
      assert.deepEqual(new Set(Object.values(modes(folder))), new Set([0o600]));
      assert.ok('deskbell.db-wal' in modes(folder));
    } finally {
      await deskbell.close();
    }
  });

  it('may also hold files of other programs: Deskbell neither changes nor checks them', async () => {
    const folder = newFolder();
    const shared = { env: { DATA_DIR: folder }, async remove() {} };
    const backup = join(folder, 'backup.tar');
    writeFileSync(backup, '');
    chmodSync(backup, 0o640);
    await (await startDeskbell('sqlite', {}, shared)).close();
    assert.equal(statSync(backup).mode & 0o777, 0o640);
    const { code, stdout } = await run(['doctor'], { env: { DATA_DIR: folder, PORT: '0' } });
    assert.equal(code, 0, stdout);
  });

  // Only root can give a file to another user.
  it('with a readable key of another user is refused', { skip: process.getuid?.() !== 0 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-foreign-'));
    const file = join(folder, 'secret.key');
    writeFileSync(file, `${newSecretKey()}\n`);
    chmodSync(file, 0o644);
    chownSync(folder, NOBODY, NOBODY);
    process.seteuid!(NOBODY);
    try {
      assert.throws(() => openSqlite(folder, { lock: true }), {
        message: `Other users of this machine can read ${file}, and its mode cannot be changed: permission denied. Give the file to the user who runs Deskbell, with mode 600.`,
      });
    } finally {
      process.seteuid!(0);
      rmSync(folder, { recursive: true });
    }
  });
});

onEachEngine('SECRET_KEY', (engine) => {
  const SENTENCE = 'my dog has fleas & nobody else knows it yet!';

  it('must be base64 or hex for a new database', async () => {
    const testDatabase = await createTestDatabase(engine);
    try {
      await assert.rejects(
        startDeskbell(engine, { SECRET_KEY: SENTENCE }, testDatabase),
        (error) =>
          error instanceof VaultError &&
          /^SECRET_KEY must be 32 random bytes in base64 or hex\./.test(error.message),
      );
      for (const key of [newSecretKey(), randomBytes(32).toString('hex')]) {
        assert.equal(readConfig({ ...testDatabase.env, SECRET_KEY: key }).secretKey, key);
      }
    } finally {
      await testDatabase.remove();
    }
  });

  it('may be other text for a database that was created with it', async () => {
    const testDatabase = await createTestDatabase(engine);
    const first = await startDeskbell(engine, { SECRET_KEY: newSecretKey() }, testDatabase);
    const oldKey = first.config.secretKey!;
    const rows = await first.database.all<{ kid: string; sealed_private_key: string }>(
      'select kid, sealed_private_key from signing_keys',
    );
    for (const { kid, sealed_private_key } of rows) {
      const purpose = `signing key ${kid}`;
      const sealed = createVault(SENTENCE).seal(
        createVault(oldKey).open(sealed_private_key, purpose),
        purpose,
      );
      await first.database.run('update signing_keys set sealed_private_key = $2 where kid = $1', [
        kid,
        sealed,
      ]);
    }
    await first.close();
    const deskbell = await startDeskbell(engine, { SECRET_KEY: SENTENCE }, testDatabase);
    try {
      await deskbell.signIn();
      assert.match(deskbell.logged.join(''), /SECRET_KEY is neither base64 nor hex/);
    } finally {
      await deskbell.close();
      await testDatabase.remove();
    }
  });
});

describe('addresses that messages are sent to', () => {
  const WEBHOOK = { CHANNEL: 'webhook', WEBHOOK_SECRET: `whsec_${newSecretKey()}` };
  const WHATSAPP = {
    CHANNEL: 'whatsapp',
    WHATSAPP_PHONE_NUMBER_ID: '1234567890',
    WHATSAPP_TOKEN: 'a-token-of-meta',
    WHATSAPP_APP_SECRET: 'a-secret-of-the-app',
    WHATSAPP_VERIFY_TOKEN: 'verify-me',
  };
  const accepted: Record<string, string>[] = [
    { ...WEBHOOK, WEBHOOK_URL: 'https://shop.example/messages' },
    { ...WEBHOOK, WEBHOOK_URL: 'http://10.0.0.5/messages', WEBHOOK_ALLOW_PRIVATE: 'true' },
    { ...WHATSAPP, WHATSAPP_BASE_URL: 'http://127.0.0.1:9000' },
    { ...WHATSAPP, WHATSAPP_BASE_URL: 'https://graph.example' },
  ];
  const refused: [settings: Record<string, string>, problem: RegExp][] = [
    [
      { ...WEBHOOK, WEBHOOK_URL: 'http://shop.example/messages' },
      /WEBHOOK_URL must be an address that begins with https/,
    ],
    [
      { ...WHATSAPP, WHATSAPP_BASE_URL: 'http://graph.example' },
      /WHATSAPP_BASE_URL must be an address that begins with https/,
    ],
    [{ ...WHATSAPP, WHATSAPP_BASE_URL: 'http://localhost.example' }, /WHATSAPP_BASE_URL must be/],
  ];
  it('are https, unless private ones are allowed', () => {
    for (const settings of accepted) readConfig(settings);
    for (const [settings, problem] of refused) assert.throws(() => readConfig(settings), problem);
  });
});
