import assert from 'node:assert/strict';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { newSecretKey, secretKeyProblem } from '../../src/secrets.ts';
import { VERSION } from '../../src/version.ts';
import { assertFailure, type Run, root, run, runAsProcess } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { onEachEngine } from '../support/server.ts';

const PASSWORD = 'quiet lemon harbour';
const UNREACHABLE = {
  DATABASE_URL: 'postgres://someone:s3cret@127.0.0.1:1/none',
  SECRET_KEY: newSecretKey(),
};

function jsonOf({ code, stderr, json }: Run) {
  assert.equal(code, 0, stderr);
  return json;
}

onEachEngine('a new database', (engine) => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase(engine);
  });
  after(() => database.remove());
  const deskbell = (args: string[]) => run(args, { env: { ...database.env, PORT: '0' } });

  it('is created by no other command, which says what to do', async () => {
    const listed = await deskbell(['merchant', 'list']);
    assertFailure(listed, 1, /Run "npm run deskbell -- db migrate" or start the server/);
    if (engine === 'sqlite') assert.ok(!existsSync(join(database.env.DATA_DIR!, 'deskbell.db')));
  });

  it('is migrated once, even if several processes start it, and then doctor finds no problem', async () => {
    const atOnce = await Promise.all([1, 2, 3].map(() => deskbell(['db', 'migrate', '--json'])));
    const applied = atOnce.flatMap((done) => jsonOf(done).applied);
    assert.equal(applied[0].name, 'foundation');
    assert.match((await deskbell(['db', 'migrate'])).stdout, /up to date/);
    const status = jsonOf(await deskbell(['db', 'status', '--json']));
    assert.deepEqual([status.engine, status.pending, status.migrations.length], [engine, 0, applied.length]);
    jsonOf(await deskbell(['keys', 'rotate', '--json']));
    const { code, stdout } = await deskbell(['doctor']);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /✔ The database responds: (SQLite|PostgreSQL)[\s\S]*✔ SECRET_KEY can decrypt/);
    assert.doesNotMatch(stdout, /[!✖]/);
  });
});

describe('the command line', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase('sqlite');
    await deskbell(['db', 'migrate']);
  });
  after(() => database.remove());
  const deskbell = (args: string[], input = '', settings: Record<string, string> = {}) =>
    run(args, { env: { ...database.env, PORT: '0', ...settings }, input });
  const json = async (args: string[], input = '') => jsonOf(await deskbell([...args, '--json'], input));

  it('adds and lists merchants', async () => {
    assert.match((await deskbell(['merchant', 'list'])).stdout, /no merchants yet/);
    const added = await deskbell(['merchant', 'add', 'Café Öl']);
    assert.match(added.stdout, /Merchant 1, Café Öl, was added/);
    await json(['merchant', 'add', 'Other shop']);
    const ids = (await json(['merchant', 'list'])).map(({ id }: { id: number }) => id);
    assert.deepEqual(ids, [1, 2]);
    assert.match(
      (await deskbell(['merchant', 'list'])).stdout,
      /^ID +NAME +COUNTRY +ANSWERS SENT BY +CONFIDENT +ADDED \(UTC\)\n1 +Café Öl +– +deskbell +learned +20/,
    );
    const wrong = await deskbell(['merchant', 'add', 'a\u001b[31mb']);
    assertFailure(wrong, 2, /1 to 200 characters on one line/);
  });

  it('adds users, and changes their password, with a good one from standard input', async () => {
    const add = (email: string, ...more: string[]) => [
      ...['user', 'add', '--name', 'Alma', '--email', email],
      ...more,
    ];
    const change = (email: string) => ['user', 'password', email];
    for (const [args, input, expected] of [
      [add('Alma@shop.example', '--merchant', '1'), `${PASSWORD}\nignored\n`, ['owner', 1]],
      [add('berta@shop.example', '--merchant', '1'), PASSWORD, ['user', 1]],
      [add('op@shop.example'), PASSWORD, ['admin', null]],
    ] as const) {
      const { role, merchant_id, password_hash } = await json(args, input);
      assert.deepEqual([role, merchant_id, password_hash], [...expected, undefined]);
    }
    for (const [args, input, problem] of [
      [add('ALMA@shop.example'), PASSWORD, /User ALMA@shop\.example already exists/],
      [add('b@shop.example'), 'xK9#pQ2!v', /at least 10 characters\. Nothing was changed\./],
      [add('b@shop.example', '--merchant', '2'), 'Other shop Alma', /too easy.* Nothing was changed\./],
      [add('b@shop.example'), '', /No password on standard input/],
      [add('b@shop.example', '--merchant', '99'), PASSWORD, /no merchant 99/],
      [change('alma@shop.example'), 'Café Öl Alma', /too easy to guess/],
      [change('nobody@shop.example'), PASSWORD, /no user nobody@shop\.example/],
    ] as const)
      assertFailure(await deskbell(args, input), 1, problem);
    assert.equal((await deskbell(change('alma@shop.example'), 'velvet tractor 41')).code, 0);
    assert.equal((await json(['user', 'list'])).length, 3);
    assert.match(
      (await deskbell(['user', 'list', '--merchant', '1'])).stdout,
      /Alma@shop\.example .* owner .* enabled\n.*berta@shop\.example .* user .* enabled\n$/,
    );
  });

  it('adds and lists conversations', async () => {
    const add = (phone: string) =>
      deskbell([...'conversation add --merchant 1 --name Lu --reference r-1 --phone'.split(' '), phone]);
    assert.match((await add('+34 (611) 55-01.01')).stdout, /Conversation 1 with Lu was added to Café Öl/);
    assertFailure(await add('+34611550101'), 1, /already has a conversation with this reference/);
    const wrong = await add('611550101');
    assertFailure(wrong, 2, /phone has no country code; write it with \+/);
    assert.doesNotMatch(wrong.stderr, /611550101/);
    const [listed] = await json(['conversation', 'list', '--merchant', '1']);
    assert.equal(listed.customer_phone, '+34611550101');
    assert.deepEqual(await json(['conversation', 'list', '--merchant', '2']), []);
  });

  it('rotates keys, and detects a wrong SECRET_KEY', async () => {
    const [first, second] = [await json(['keys', 'rotate']), await json(['keys', 'rotate'])];
    const states = (await json(['keys', 'list'])).map(({ kid, state }: Record<string, string>) => [
      kid,
      state,
    ]);
    assert.deepEqual(states, [
      [second.kid, 'signs'],
      [first.kid, 'verifies'],
    ]);
    const other = { SECRET_KEY: newSecretKey() };
    const refused = await deskbell(['keys', 'rotate'], '', other);
    assertFailure(refused, 1, /SECRET_KEY is not the key of this database/);
    const failed = await deskbell(['doctor'], '', other);
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /✖ SECRET_KEY cannot decrypt the signing keys/);
    const third = await json(['keys', 'rotate', '--revoke']);
    assert.deepEqual(third.removed.sort(), [first.kid, second.kid].sort());
  });
});

describe('the command line without a database', () => {
  it('shows help for the program, a group and a command, also through a link in another folder', async () => {
    for (const [words, line] of [
      ['', /conversation +Conversations: add, list, import/],
      ['help', /conversation +Conversations: add, list, import/],
      ['user --help', /user password EMAIL +Set a new password for a user/],
      ['help user add', /Usage: .* user add --email ADDRESS --name NAME .*\[--role owner\|user\|admin\]/],
      ['--version', new RegExp(`^${VERSION}\n$`)],
    ] as const) {
      const { code, stdout, stderr } = await run(words.split(' ').filter(Boolean));
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, line);
    }
    const link = join(newFolder(), 'deskbell');
    symlinkSync(`${root}bin/deskbell`, link);
    assert.equal((await runAsProcess(['--version'], { program: [link] })).stdout, `${VERSION}\n`);
  });

  const ADD = 'user add --email a@b.c --name x';
  const misuses: [words: string, RegExp][] = [
    ['merchnat list', /There is no command "merchnat"\. Did you mean "merchant"\?/],
    ['user pasword', /Did you mean "user password"\?/],
    [`${ADD} --password hunter2hunter2`, /reads the first line of standard input/],
    ['user password c@shop.example hunter2hunter2', /Too many arguments/],
    ['user', /"user" needs a command: add, list, password/],
    ['xyzzy', /Commands: merchant, user/],
    ['user add --emial x', /"user add" has no option --emial\. Did you mean --email\?/],
    ['user add --email --name x', /--email needs a value/],
    ['user add --email nobody --name x', /looks like name@shop\.example/],
    [`${ADD} --role boss`, /--role is one of owner, user, admin/],
    [`${ADD} --role owner`, /The role owner needs --merchant/],
    [`${ADD} --role admin --merchant 1`, /belongs to no merchant/],
    ['user role a@b.c admin', /ROLE is one of owner, user/],
    ['user list --json --json', /given twice/],
    ['conversation list', /--merchant ID is required/],
    ['keys rotate --revoke=yes', /takes no value/],
    ['merchant add', /NAME is missing/],
    ['conversation import a.csv --merchant 1 --format xml', /--format is one of csv, jsonl/],
  ];
  it('reports wrong usage with a hint and exit code 2, and errors as JSON for scripts', async () => {
    for (const [words, message] of misuses) assertFailure(await run(words.split(' ')), 2, message);
    assertFailure(await runAsProcess(['merchnat', '--json']), 2, /^\{"error":".*"\}\n$/);
    const down = await run(['merchant', 'list', '--json'], { env: UNREACHABLE });
    assertFailure(down, 1, /^\{"error":"The PostgreSQL of DATABASE_URL cannot be used/);
  });

  it('prints a SECRET_KEY that the settings accept', async () => {
    assert.equal(secretKeyProblem((await run(['secret'])).stdout.trim()), undefined);
  });

  it('prints a valid OpenAPI document, and the copy in the repository is current', async () => {
    const { stdout } = await run(['openapi']);
    assert.deepEqual(await new Validator().validate(JSON.parse(stdout)), { valid: true });
    const hint = 'run "npm run deskbell -- openapi --write" and commit openapi.json';
    assert.equal(readFileSync(`${root}openapi.json`, 'utf8'), stdout, hint);
  });

  it('adds the demo data only to an empty database that no others can use, and enables its users nowhere else', async () => {
    const fresh = await createTestDatabase('sqlite');
    const { DEMO: _, ...env } = fresh.env;
    const production = { ...env, NODE_ENV: 'production', PORT: '0' };
    const reachable = { ...env, HOST: '0.0.0.0', PORT: '0' };
    try {
      assertFailure(await run(['demo'], { env: production }), 1, /the passwords of the demo are public/);
      assertFailure(await run(['demo'], { env: reachable }), 1, /other machines could sign in/);
      const done = await run(['demo'], { env: fresh.env });
      assert.match(done.stdout, /owner@aurora\.example +aurora-demo/);
      assertFailure(await run(['demo'], { env: fresh.env }), 1, /already has merchants or users/);
      for (const settings of [production, reachable]) {
        const failed = await run(['doctor'], { env: settings });
        assert.equal(failed.code, 1);
        assert.equal(failed.stdout.match(/user disable \w+@/g)?.length, 3, failed.stdout);
      }
      const email = 'owner@aurora.example';
      await run(['user', 'disable', email], { env: production });
      const refused = await run(['user', 'enable', email], { env: production });
      assertFailure(refused, 1, /still has the demo's password.*user password owner@aurora\.example/);
    } finally {
      await fresh.remove();
    }
  });

  it('doctor names each wrong setting and everything that it cannot reach, without a secret', async () => {
    const confused = await run(['doctor'], { env: { PORT: 'eighty', DATABASE_URL: 'mysql://x' } });
    const embeddings = { EMBEDDINGS_URL: 'http://127.0.0.1:1/v1', EMBEDDINGS_MODEL: 'bge-m3' };
    const env = { ...UNREACHABLE, ...embeddings, EMBEDDINGS_API_KEY: 's3cret', HOST: '203.0.113.1' };
    const alone = await run(['doctor'], { env: { ...env, REDIS_URL: 'redis://127.0.0.1:1' } });
    for (const [{ code, stdout, stderr }, lines] of [
      [confused, [/✖ PORT must be a whole number/, /✖ DATABASE_URL must be an address/]],
      [
        alone,
        [
          /✖ .*nothing answers at its address\.\n +Start it, or correct DATABASE_URL/,
          /✖ Redis does not respond/,
          /✖ The embeddings endpoint at 127\.0\.0\.1:1 does not work \(\w+\)/,
          /✖ HOST 203\.0\.113\.1 is not an address of this machine/,
        ],
      ],
    ] as const) {
      assert.equal(code, 1);
      for (const line of lines) assert.match(stdout, line);
      assert.doesNotMatch(stdout + stderr, /s3cret/);
    }
  });

  it('doctor creates nothing, and hints at risky settings', async () => {
    const dataDir = join(newFolder(), 'data');
    const env = { DATA_DIR: dataDir, PORT: '0', TRUST_PROXY: 'true' };
    const { stdout, code } = await run(['doctor'], { env });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /! TRUST_PROXY is true: .*\n +Set it to the number of proxies/);
    assert.match(stdout, /! The data folder .* does not exist yet/);
    assert.ok(!existsSync(dataDir));
  });
});
