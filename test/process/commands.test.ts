import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { secretKeyProblem } from '../../src/secrets.ts';
import { VERSION } from '../../src/version.ts';
import { type Run, root, run, runAsProcess } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { newFolder } from '../support/process.ts';
import { onEachEngine } from '../support/server.ts';

function assertFailure({ code, stdout, stderr }: Run, expectedCode: number, message: RegExp): void {
  assert.match(stderr, message);
  assert.equal(code, expectedCode, stderr);
  assert.equal(stdout, '');
}

onEachEngine('the command line', (engine) => {
  let testDatabase: TestDatabase;
  before(async () => {
    testDatabase = await createTestDatabase(engine);
  });
  after(() => testDatabase.remove());
  const deskbell = (args: string[], input?: string) =>
    run(args, { env: testDatabase.env, ...(input === undefined ? {} : { input }) });
  const json = async (args: string[], input?: string) => {
    const done = await deskbell([...args, '--json'], input);
    assert.equal(done.code, 0, done.stderr);
    return done.json;
  };

  it('changes nothing if there is no database, and says what to do', async () => {
    assertFailure(
      await deskbell(['merchant', 'list']),
      1,
      /Run "npm run deskbell -- db migrate" or start the server/,
    );
    if (engine === 'sqlite') assert.ok(!existsSync(join(testDatabase.env.DATA_DIR!, 'deskbell.db')));
  });

  it('migrates once, even if several processes start it, and shows the result', async () => {
    const atOnce = await Promise.all([1, 2, 3].map(() => json(['db', 'migrate'])));
    const applied = atOnce.flatMap((run) => run.applied);
    assert.equal(applied[0].name, 'foundation');
    assert.match((await deskbell(['db', 'migrate'])).stdout, /up to date/);
    const status = await json(['db', 'status']);
    assert.equal(status.engine, engine);
    assert.equal(status.pending, 0);
    assert.equal(status.migrations.length, applied.length);
  });

  it('adds and lists merchants', async () => {
    assert.match((await deskbell(['merchant', 'list'])).stdout, /no merchants yet/);
    const added = await deskbell(['merchant', 'add', 'Café Öl']);
    assert.match(added.stdout, /Merchant 1, Café Öl, was added/);
    await json(['merchant', 'add', 'Other shop']);
    assert.deepEqual(
      (await json(['merchant', 'list'])).map(({ id, name }: { id: number; name: string }) => [id, name]),
      [
        [1, 'Café Öl'],
        [2, 'Other shop'],
      ],
    );
    assert.match(
      (await deskbell(['merchant', 'list'])).stdout,
      /^ID +NAME +COUNTRY +ANSWERS SENT BY +CONFIDENT +ADDED \(UTC\)\n1 +Café Öl +– +deskbell +learned +20/,
    );
    assertFailure(await run(['merchant', 'add', 'a\u001b[31mb']), 2, /1 to 200 characters on one line/);
  });

  it('adds users with a password from standard input', async () => {
    const add = (email: string, ...more: string[]) => [
      ...'user add --name Alma --email'.split(' '),
      email,
      ...more,
    ];
    const password = 'quiet lemon harbour';
    for (const [args, input, expected] of [
      [add('Alma@shop.example', '--merchant', '1'), `${password}\nignored\n`, ['owner', 1]],
      [add('berta@shop.example', '--merchant', '1'), password, ['user', 1]],
      [add('op@shop.example'), password, ['admin', null]],
    ] as const) {
      const { role, merchant_id, password_hash } = await json([...args], input);
      assert.deepEqual([role, merchant_id, password_hash], [...expected, undefined]);
    }
    for (const [args, input, problem] of [
      [add('ALMA@shop.example'), `${password}\n`, /User ALMA@shop\.example already exists/],
      [add('b@shop.example'), 'xK9#pQ2!v\n', /at least 10 characters\. Nothing was changed\./],
      [
        add('b@shop.example', '--merchant', '2'),
        'Other shop Alma\n',
        /This password is too easy to guess.* Nothing was changed\./,
      ],
      [add('b@shop.example'), undefined, /No password on standard input/],
      [add('b@shop.example', '--merchant', '99'), `${password}\n`, /no merchant 99/],
    ] as const)
      assertFailure(await deskbell([...args], input), 1, problem);

    assert.equal((await json(['user', 'list'])).length, 3);
    assert.match(
      (await deskbell(['user', 'list', '--merchant', '1'])).stdout,
      /Alma@shop\.example .* owner .* enabled\n.*berta@shop\.example .* user .* enabled\n$/,
    );
  });

  it('changes a password unless it is easy to guess, and only of a user who exists', async () => {
    const change = (password: string, email = 'alma@shop.example') =>
      deskbell(['user', 'password', email], `${password}\n`);
    assertFailure(await change('qwertyuiop'), 1, /too easy to guess\. Use a few uncommon words\./);
    assertFailure(await change('Café Öl Alma'), 1, /too easy to guess/);
    assert.equal((await change('velvet tractor 41')).code, 0);
    assertFailure(
      await change('velvet tractor 41', 'nobody@shop.example'),
      1,
      /no user nobody@shop\.example/,
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
    assert.deepEqual(await json(['keys', 'list']), []);
    const first = await json(['keys', 'rotate']);
    const second = await json(['keys', 'rotate']);
    const states = (await json(['keys', 'list'])).map(({ kid, state }: Record<string, string>) => [
      kid,
      state,
    ]);
    assert.deepEqual(states, [
      [second.kid, 'signs'],
      [first.kid, 'verifies'],
    ]);

    const env = { ...testDatabase.env, SECRET_KEY: 'Zk3v9Q1x8T5r2W7y4B6n0M3c9L1p5H8j2F4d6S7a8Q0' };
    assertFailure(await run(['keys', 'rotate'], { env }), 1, /SECRET_KEY is not the key of this database/);
    const failed = await run(['doctor'], { env });
    assert.equal(failed.code, 1);
    assert.match(failed.stdout, /✖ SECRET_KEY cannot decrypt the signing keys/);

    const third = await json(['keys', 'rotate', '--revoke']);
    assert.deepEqual(third.removed.sort(), [first.kid, second.kid].sort());
  });

  it('doctor accepts a correct installation and reports readable key files', async () => {
    const env = { ...testDatabase.env, PORT: '0' };
    const fine = await run(['doctor'], { env });
    assert.equal(fine.code, 0, fine.stdout);
    assert.match(
      fine.stdout,
      engine === 'sqlite' ? /✔ The database responds: SQLite/ : /✔ The database responds: PostgreSQL/,
    );
    assert.match(fine.stdout, /✔ SECRET_KEY can decrypt the signing keys/);
    assert.doesNotMatch(fine.stdout, /[!✖]/);
    if (engine !== 'sqlite') return;
    const file = join(testDatabase.env.DATA_DIR!, 'secret.key');
    chmodSync(file, 0o644);
    const open = await run(['doctor'], { env });
    assert.equal(open.code, 1);
    assert.match(
      open.stdout,
      new RegExp(`✖ Other users of this machine can read .*\n +Run chmod 600 ${file}`),
    );
    chmodSync(file, 0o600);
  });
});

describe('the command line without a database', () => {
  it('shows help for the program, a group and a command', async () => {
    const bare = await run([]);
    const help = await run(['help']);
    const group = await run(['user', '--help']);
    const command = await run(['help', 'user', 'add']);
    const version = await run(['--version']);
    assert.equal(bare.stdout, help.stdout);
    assert.match(help.stdout, /conversation +Conversations: add, list, import/);
    assert.match(group.stdout, /user password EMAIL +Set a new password for a user/);
    assert.match(
      command.stdout,
      /Usage: .* user add --email ADDRESS --name NAME \[--merchant ID\] \[--role owner\|user\|admin\]/,
    );
    assert.equal(version.stdout, `${VERSION}\n`);
    for (const { code, stderr } of [bare, help, group, command, version])
      assert.deepEqual([code, stderr], [0, '']);
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
    ['merchant add two words', /Too many arguments/],
    ['conversation import a.csv --merchant 1 --format xml', /--format is one of csv, jsonl/],
  ];
  it('reports wrong usage with a hint and exit code 2', async () => {
    for (const [words, message] of misuses) {
      const failed = await run(words.split(' '));
      assertFailure(failed, 2, message);
      assert.doesNotMatch(failed.stderr, /hunter2/);
    }
  });

  it('prints errors as JSON for scripts', async () => {
    assertFailure(await runAsProcess(['merchnat', '--json']), 2, /^\{"error":".*"\}\n$/);
    const down = await run(['merchant', 'list', '--json'], { env: UNREACHABLE });
    assertFailure(down, 1, /^\{"error":"The PostgreSQL of DATABASE_URL cannot be used/);
  });

  it('prints a SECRET_KEY that the settings accept', async () => {
    const { stdout } = await run(['secret']);
    assert.equal(secretKeyProblem(stdout.trim()), undefined);
  });

  it('prints the OpenAPI document, and the copy in the repository is current', async () => {
    const { stdout, code } = await run(['openapi']);
    assert.equal(code, 0);
    const document = JSON.parse(stdout);
    assert.match(document.openapi, /^3\.1\./);
    assert.ok(document.paths['/api/v1/auth/login']);
    assert.equal(
      readFileSync(`${root}openapi.json`, 'utf8'),
      stdout,
      'run "npm run deskbell -- openapi --write" and commit openapi.json',
    );
  });

  const UNREACHABLE = {
    DATABASE_URL: 'postgres://someone:s3cret@127.0.0.1:1/none',
    SECRET_KEY: 'Zk3v9Q1x8T5r2W7y4B6n0M3c9L1p5H8j2F4d6S7a8Q0',
  };

  it('adds the demo data only to an empty database and not where others could use it, nor does it enable its users there', async () => {
    const fresh = await createTestDatabase('sqlite');
    const { DEMO: _, ...env } = fresh.env;
    const production = { ...env, NODE_ENV: 'production', PORT: '0' };
    try {
      assertFailure(await run(['demo'], { env: production }), 1, /the passwords of the demo are public/);
      const reachable = { ...env, HOST: '0.0.0.0', PORT: '0' };
      assertFailure(await run(['demo'], { env: reachable }), 1, /other machines could sign in/);
      const done = await run(['demo'], { env: fresh.env });
      assertFailure(
        await run(['demo'], { env: fresh.env }),
        1,
        /The database already has merchants or users/,
      );
      assert.match(done.stdout, /owner@aurora\.example +aurora-demo/);
      for (const settings of [production, reachable]) {
        const failed = await run(['doctor', '--json'], { env: settings });
        assert.equal(failed.code, 1);
        const open = failed.json.findings.filter(({ state }: { state: string }) => state === 'bad');
        assert.equal(open.length, 3);
        assert.match(open[0].fix, /user disable owner@aurora\.example/);
      }
      const email = 'owner@aurora.example';
      await run(['user', 'disable', email], { env: production });
      const refused = await run(['user', 'enable', email], { env: production });
      assertFailure(refused, 1, /still has the demo's password.*user password owner@aurora\.example/);
    } finally {
      await fresh.remove();
    }
  });

  it('doctor works with wrong settings and without the database', async () => {
    const confused = await run(['doctor'], { env: { PORT: 'eighty', DATABASE_URL: 'mysql://x' } });
    const embeddings = {
      EMBEDDINGS_URL: 'http://127.0.0.1:1/v1',
      EMBEDDINGS_MODEL: 'bge-m3',
      EMBEDDINGS_API_KEY: 's3cret',
    };
    const env = { ...UNREACHABLE, ...embeddings, REDIS_URL: 'redis://127.0.0.1:1', HOST: '203.0.113.1' };
    const alone = await run(['doctor'], { env });
    assert.equal(confused.code, 1);
    assert.match(confused.stdout, /✖ PORT must be a whole number/);
    assert.match(confused.stdout, /✖ DATABASE_URL must be an address/);
    assert.equal(alone.code, 1);
    assert.match(alone.stdout, /✖ .*nothing answers at its address\.\n +Start it, or correct DATABASE_URL/);
    assert.match(alone.stdout, /✖ Redis does not respond/);
    assert.match(alone.stdout, /✖ The embeddings endpoint at 127\.0\.0\.1:1 does not work \(\w+\)/);
    assert.match(alone.stdout, /✖ HOST 203\.0\.113\.1 is not an address of this machine/);
    assert.doesNotMatch(alone.stdout + alone.stderr, /s3cret/);
  });

  it('doctor creates nothing, and hints at risky settings', async () => {
    const dataDir = join(newFolder(), 'data');
    const { stdout, code } = await run(['doctor'], {
      env: { DATA_DIR: dataDir, PORT: '0', TRUST_PROXY: 'true' },
    });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /! TRUST_PROXY is true: .*\n +Set it to the number of proxies/);
    assert.match(stdout, /! The data folder .* does not exist yet/);
    assert.ok(!existsSync(dataDir));
  });

  it('bin/deskbell runs through a link in another folder', async () => {
    const link = join(newFolder(), 'deskbell');
    symlinkSync(`${root}bin/deskbell`, link);
    assert.equal((await runAsProcess(['--version'], { program: [link] })).stdout, `${VERSION}\n`);
  });
});
