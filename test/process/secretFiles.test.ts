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
describe('a secret in a file', () => {
  const folder = newFolder();
  const write = (name: string, content: string | Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };

  it('is possible for every setting that contains one', () => {
    const secrets = DESCRIPTORS.flatMap(({ fields }) => fields.filter((f) => f.kind === 'text' && f.secret));
    const known: readonly string[] = SECRET_SETTINGS;
    for (const { variable } of secrets) assert.ok(known.includes(variable), variable);
  });

  it('is the same as in the environment, without the line break at the end of the file', () => {
    for (const [name, value] of [
      ['SECRET_KEY', key],
      ['REDIS_URL', 'redis://:hunter2@redis.example'],
      ['METRICS_TOKEN', 'hunter2-hunter2-hunter2'],
      ['WHATSAPP_TOKEN', 'hunter2hunter2hunter2'],
    ] as const)
      assert.deepEqual(
        readConfig({ [fileSettingOf(name)]: write(name, `${value}\n`) }),
        readConfig({ [name]: value }),
      );
    const file = write('DESKBELL_KEY', 'dbk_hunter2\n');
    assert.deepEqual(
      readApiAccess({ DESKBELL_KEY_FILE: file }),
      readApiAccess({ DESKBELL_KEY: 'dbk_hunter2' }),
    );
  });

  it('that cannot be used is one line, without what the file contains', () => {
    const file = write('secret', `hunter2${key}`);
    for (const [env, line] of [
      [{ SECRET_KEY_FILE: file, SECRET_KEY: key }, 'must not be set together with SECRET_KEY.'],
      [{ SMTP_URL_FILE: join(folder, 'nowhere') }, 'nowhere does not exist.'],
      [{ SECRET_KEY_FILE: folder }, 'is a folder.'],
      [{ REDIS_URL_FILE: write('empty', ' \n') }, 'empty is empty.'],
      [{ SECRET_KEY_FILE: write('large', 'hunter2'.repeat(10_000)) }, 'large is larger than 16384 bytes.'],
      [{ METRICS_TOKEN_FILE: write('lines', 'hunter2\nhunter2\n') }, 'lines must have one line.'],
    ] as const) {
      const [setting] = Object.keys(env);
      const isClear = ({ message }: Error) =>
        message.startsWith(setting!) && message.includes(line) && !/hunter2|\n/.test(message);
      assert.throws(() => readConfig(env), isClear);
    }
  });
});

describe('a variable that is no setting but looks like one', () => {
  const namesOf = (env: Record<string, string>) =>
    readConfig(env).unknownSettings.map(({ name, near }) => [name, near]);

  it('is named, with what was probably meant', () => {
    for (const [name, near] of [
      ['DATABASE_URI', 'DATABASE_URL'],
      ['secret_key', 'SECRET_KEY'],
      ['PUBLIC_ULR', 'PUBLIC_URL'],
      ['DATABASE_URL_FILES', 'DATABASE_URL_FILE'],
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
    const wrong = { DATABASE_URI: 'postgres://me:hunter2@db' };
    const deskbell = await startDeskbell('sqlite', wrong);
    const logged = deskbell.logged.join('');
    assert.match(logged, /"level":"warn".*DATABASE_URI is not a setting.*Did you mean DATABASE_URL\?/);
    const env = { DATA_DIR: deskbell.config.dataDir, PORT: '0', ...wrong };
    const { stdout } = await run(['doctor'], { env });
    assert.match(stdout, /! DATABASE_URI is not a setting/);
    assert.ok(!(logged + stdout).includes('hunter2'));
    await deskbell.close();
  });
});
