import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileSettingOf, SECRET_SETTINGS } from '../../src/config/secretFiles.ts';
import { readApiAccess, readConfig } from '../../src/config.ts';
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

  it('is the same as in the environment, without the line break at the end of the file', () => {
    for (const name of SECRET_SETTINGS) {
      const [value, others = {}] = VALUES[name];
      const file = write(name, `${value}\n`);
      const read = (env: Record<string, string>) =>
        name === 'DESKBELL_KEY' ? readApiAccess(env) : { ...readConfig({ ...others, ...env }) };
      assert.deepEqual(read({ [fileSettingOf(name)]: file }), read({ [name]: value }));
    }
  });

  it('that cannot be used is one line, without what the file contains', () => {
    const file = write('secret', `hunter2${key}`);
    for (const [env, line] of [
      [
        { SECRET_KEY_FILE: file, SECRET_KEY: key },
        'SECRET_KEY_FILE must not be set together with SECRET_KEY.',
      ],
      [{ SMTP_URL_FILE: join(folder, 'nowhere') }, 'nowhere does not exist.'],
      [{ SECRET_KEY_FILE: folder }, 'is a folder.'],
      [{ REDIS_URL_FILE: write('empty', ' \n') }, 'empty is empty.'],
      [{ SECRET_KEY_FILE: write('large', 'hunter2'.repeat(10_000)) }, 'large is larger than 16384 bytes.'],
      [{ METRICS_TOKEN_FILE: write('lines', 'hunter2\nhunter2\n') }, 'lines must have one line.'],
    ] as const) {
      const [setting] = Object.keys(env);
      assert.throws(
        () => readConfig(env),
        ({ message }: Error) =>
          message.startsWith(setting!) && message.includes(line) && !/hunter2|\n/.test(message),
      );
    }
  });
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
    const foreign =
      'PATH HOME HOSTNAME HOSTTYPE NODE_OPTIONS npm_config_cache INIT_CWD PWD TERM KUBERNETES_SERVICE_HOST ' +
      'DESKBELL_SERVICE_HOST DESKBELL_SERVICE_PORT_HTTP PGHOST LANG DESKBELL_PORT_8000_TCP_ADDR REDIS_PORT_6379_TCP ' +
      'OTEL_GO_X_RESOURCE TMPDIR POSTGRES_URL AWS_SECRET_ACCESS_KEY SSH_AUTH_SOCK CI HTTP_PROXY LOGNAME DOCKER_HOST';
    assert.deepEqual(namesOf(Object.fromEntries(foreign.split(' ').map((name) => [name, 'x']))), []);
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
