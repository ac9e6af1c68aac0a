import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileSettingOf, SECRET_SETTINGS } from '../../src/config/secretFiles.ts';
import { ConfigError, readApiAccess, readConfig } from '../../src/config.ts';
import { DESCRIPTORS } from '../../src/delivery/channels/descriptors.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { run } from '../support/command.ts';
import { newFolder } from '../support/process.ts';
import { startDeskbell } from '../support/server.ts';

const key = newSecretKey();
const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otel.example' };
/** A valid value for each, and what it needs beside it. */
const VALUES: Record<(typeof SECRET_SETTINGS)[number], [value: string, others?: Record<string, string>]> = {
  SECRET_KEY: [key],
  SECRET_KEY_PREVIOUS: [newSecretKey()],
  DATABASE_URL: ['postgres://deskbell:hunter2@db.example/deskbell', { SECRET_KEY: key }],
  DATABASE_DIRECT_URL: [
    'postgres://deskbell:hunter2@db.example/deskbell',
    { DATABASE_URL: 'postgres://pool.example/deskbell', SECRET_KEY: key },
  ],
  REDIS_URL: ['redis://:hunter2@redis.example'],
  METRICS_TOKEN: ['hunter2-hunter2-hunter2'],
  SMTP_URL: [
    'smtp://me:hunter2@mail.example',
    { MAIL_FROM: 'me@mail.example', PUBLIC_URL: 'https://desk.example' },
  ],
  EMBEDDINGS_API_KEY: ['hunter2', { EMBEDDINGS_URL: 'https://models.example', EMBEDDINGS_MODEL: 'm' }],
  WEBHOOK_URL: ['https://shop.example/hunter2', { WEBHOOK_SECRET: `whsec_${key}`, CHANNEL: 'webhook' }],
  WEBHOOK_SECRET: [`whsec_${key}`, { WEBHOOK_URL: 'https://shop.example/', CHANNEL: 'webhook' }],
  WHATSAPP_TOKEN: ['hunter2hunter2hunter2'],
  WHATSAPP_APP_SECRET: ['hunter2hunter2hunter2'],
  WHATSAPP_VERIFY_TOKEN: ['hunter2hunter2'],
  OTEL_EXPORTER_OTLP_HEADERS: ['api-key=hunter2', OTLP],
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: ['api-key=hunter2', OTLP],
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: ['api-key=hunter2', OTLP],
  OTEL_EXPORTER_OTLP_LOGS_HEADERS: ['api-key=hunter2', OTLP],
  DESKBELL_KEY: ['dbk_hunter2'],
};

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

describe('a secret in a file', () => {
  const folder = newFolder();
  const write = (name: string, content: string | Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };

  it('is possible for every setting that contains one', () => {
    const secrets = DESCRIPTORS.flatMap(({ fields }) => fields.filter((f) => f.kind === 'text' && f.secret));
    for (const { variable } of secrets)
      assert.ok(
        SECRET_SETTINGS.some((name) => name === variable),
        variable,
      );
  });

  for (const name of SECRET_SETTINGS) {
    const [value, others = {}] = VALUES[name];
    const setting = fileSettingOf(name);

    it(`${setting} is the same as ${name}, without the line break at the end of the file`, () => {
      const file = write(name, `${value}\n`);
      const read = (env: Record<string, string>) =>
        name === 'DESKBELL_KEY' ? readApiAccess(env) : { ...readConfig({ ...others, ...env }) };
      assert.deepEqual(read({ [setting]: file }), read({ [name]: value }));
    });

    it(`${setting} that cannot be used is one line, without what the file contains`, () => {
      const file = write(name, value);
      for (const [env, line] of [
        [{ [setting]: file, [name]: value }, `${setting} must not be set together with ${name}.`],
        [{ [setting]: join(folder, 'nowhere') }, 'nowhere does not exist.'],
        [{ [setting]: folder }, 'is a folder.'],
        [{ [setting]: write('empty', ' \n') }, 'empty is empty.'],
        [{ [setting]: write('large', 'hunter2'.repeat(10_000)) }, 'large is larger than 16384 bytes.'],
        [{ [setting]: write('lines', 'hunter2\nhunter2\n') }, 'lines must have one line.'],
      ] as const) {
        const problems = problemsOf({ ...others, ...env });
        assert.equal(problems.length, 1, problems.join('\n'));
        assert.ok(problems[0]!.startsWith(setting), problems[0]);
        assert.ok(problems[0]!.includes(line), problems[0]);
        assert.ok(!problems[0]!.includes('hunter2') && !problems[0]!.includes(value), problems[0]);
      }
    });
  }
});

describe('a variable that is no setting but looks like one', () => {
  const namesOf = (env: Record<string, string>) =>
    readConfig(env).unknownSettings.map(({ name, near }) => [name, near]);

  it('is named, with what was probably meant', () => {
    for (const [name, near] of [
      ['DATABASE_URI', 'DATABASE_URL'],
      ['SECRETKEY', 'SECRET_KEY'],
      ['secret_key', 'SECRET_KEY'],
      ['PUBLIC_ULR', 'PUBLIC_URL'],
      ['SECRET_KEY_PREVIOS', 'SECRET_KEY_PREVIOUS'],
      ['DATABASE_URL_FILES', 'DATABASE_URL_FILE'],
      ['WHATSAPP_APP_SECRETS', 'WHATSAPP_APP_SECRET'],
      ['EMBEDDING_URL', 'EMBEDDINGS_URL'],
      ['TRUSTPROXY', 'TRUST_PROXY'],
      ['DESKBELL_NOTHING_LIKE_IT', undefined],
    ] as const)
      assert.deepEqual(namesOf({ [name]: 'hunter2' }), [[name, near]]);
  });

  it('is never a variable of somebody else, or a setting', () => {
    const foreign = [
      ...[
        'PATH',
        'HOME',
        'HOSTNAME',
        'HOSTTYPE',
        'NODE_OPTIONS',
        'npm_config_cache',
        'INIT_CWD',
        'PWD',
        'TERM',
      ],
      ...['KUBERNETES_SERVICE_HOST', 'DESKBELL_SERVICE_HOST', 'DESKBELL_SERVICE_PORT_HTTP', 'PGHOST', 'LANG'],
      ...['DESKBELL_PORT_8000_TCP_ADDR', 'REDIS_PORT_6379_TCP', 'OTEL_GO_X_RESOURCE', 'TMPDIR'],
      ...[
        'POSTGRES_URL',
        'AWS_SECRET_ACCESS_KEY',
        'SSH_AUTH_SOCK',
        'CI',
        'HTTP_PROXY',
        'LOGNAME',
        'DOCKER_HOST',
      ],
    ];
    assert.deepEqual(namesOf(Object.fromEntries(foreign.map((name) => [name, 'x']))), []);
    assert.deepEqual(namesOf({ DESKBELL_PORT: 'tcp://10.0.0.1:8000' }), []);
    assert.deepEqual(namesOf({ DESKBELL_KEY: 'x', DESKBELL_URL: 'x', UV_THREADPOOL_SIZE: '4' }), []);
  });

  it('is in the log when a server starts and in the doctor, without its value, and stops nothing', async () => {
    const deskbell = await startDeskbell('sqlite', { DATABASE_URI: 'postgres://me:hunter2@db' });
    const { dataDir } = deskbell.config;
    const logged = deskbell.logged.join('');
    assert.match(logged, /"level":"warn".*DATABASE_URI is not a setting.*Did you mean DATABASE_URL\?/);
    const { stdout } = await run(['doctor'], {
      env: { DATA_DIR: dataDir, PORT: '0', DATABASE_URI: 'postgres://me:hunter2@db' },
    });
    assert.match(stdout, /! DATABASE_URI is not a setting/);
    assert.ok(!(logged + stdout).includes('hunter2'));
    await deskbell.close();
  });
});
