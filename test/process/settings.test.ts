import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ConfigError, readConfig } from '../../src/config.ts';
import { DESCRIPTORS } from '../../src/delivery/channels/descriptors.ts';
import { newSecretKey } from '../../src/secrets.ts';
import { root, type Settings } from '../support/process.ts';

const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');

describe('the settings', () => {
  const config = read('src', 'config.ts');
  const keys = [...config.matchAll(/\b(?:text|integer|flag|choice|address)\(\s*'([A-Z][A-Z\d_]*)'/g)]
    .map(([, key]) => key!)
    .concat(DESCRIPTORS.flatMap(({ fields }) => fields.map(({ variable }) => variable)))
    .sort();
  const documented = [...read('docs', 'settings.md').matchAll(/^\| `([A-Z\d_]+)` \| ([^|]*) \|/gm)];
  const examples = [...read('.env.example').matchAll(/^#?([A-Z\d_]+)=(.*)$/gm)];

  it('are each read in one place', () => {
    assert.ok(keys.length > 10);
    assert.equal(new Set(keys).size, keys.length);
    // npm sets INIT_CWD: the folder that npm was called in.
    const others = [...config.matchAll(/env\.([A-Z_]+)/g)].map(([, key]) => key);
    assert.deepEqual(others, ['INIT_CWD']);
  });

  it('are exactly those of docs/settings.md, with the defaults that it lists', () => {
    assert.deepEqual(documented.map(([, key]) => key).sort(), keys);
    const defaults = documented.flatMap(([, key, cell]) => {
      const value = /^`([^`]+)`$/.exec(cell!.trim())?.[1];
      return value === undefined ? [] : [{ [key!]: value }];
    });
    assert.ok(defaults.length > 5);
    for (const one of defaults) assert.deepEqual(readConfig(one), readConfig({}), JSON.stringify(one));
  });

  it('are exactly those of .env.example, and each of its lines is valid', () => {
    assert.deepEqual(examples.map(([, key]) => key).sort(), keys);
    for (const [, key, value] of examples) readConfig({ SECRET_KEY: newSecretKey(), [key!]: value });
  });
});

function problemsOf(settings: Settings): readonly string[] {
  try {
    readConfig(settings);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

const SECRET_KEY = newSecretKey();
const WEBHOOK = { CHANNEL: 'webhook', WEBHOOK_SECRET: `whsec_${SECRET_KEY}` };
const WHATSAPP = {
  CHANNEL: 'whatsapp',
  WHATSAPP_PHONE_NUMBER_ID: '1234567890',
  WHATSAPP_TOKEN: 'a-token-of-meta',
  WHATSAPP_APP_SECRET: 'a-secret-of-the-app',
  WHATSAPP_VERIFY_TOKEN: 'verify-me',
};
const OTEL = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
const MODEL = { EMBEDDINGS_URL: 'https://models.example/v1', EMBEDDINGS_MODEL: 'bge-m3' };
const postgres = (rest: string) => ({ DATABASE_URL: `postgres://deskbell:hunter2@${rest}`, SECRET_KEY });

/** Each is wrong by itself. */
const BAD_SETTINGS: Settings = {
  PORT: '70000',
  DATABASE_URL: 'mysql://root:hunter2@127.0.0.1/deskbell',
  DATABASE_POOL_SIZE: '0',
  DATABASE_PREPARED_STATEMENTS: 'perhaps',
  SECRET_KEY: 'short',
  DEMO: 'maybe',
  DOCS: 'maybe',
  TRUST_PROXY: '10.0.0.999',
  PUBLIC_URL: 'https://shop.example/desk',
  EMBEDDINGS_URL: 'ftp://me:hunter2@models.example',
  EMBEDDINGS_TIMEOUT_MS: '5s',
  ALLOWED_HOSTS: 'https://shop.example',
  CORS_ORIGINS: 'shop.example',
  ACCESS_TOKEN_TTL_SECONDS: '1',
  REFRESH_TOKEN_TTL_SECONDS: 'a month',
  RATE_LIMIT_PER_MINUTE: '-1',
  REDIS_URL: 'http://:hunter2@127.0.0.1',
  METRICS_TOKEN: 'short',
  DEFAULT_COUNTRY: 'Spain',
  NODE_ENV: 'prod',
  LOG_LEVEL: 'loud',
  LOG_PRETTY: 'very',
  UV_THREADPOOL_SIZE: '4.5',
};

/** One line each, without the secret "hunter2". */
const REFUSED: [settings: Settings, line: RegExp][] = [
  [{ METRICS_PORT: '8000' }, /^METRICS_PORT must /],
  [{ REFRESH_TOKEN_TTL_SECONDS: '60' }, /^REFRESH_TOKEN_TTL_SECONDS must not be shorter/],
  [{ SECRET_KEY: SECRET_KEY.slice(0, 20) }, /^SECRET_KEY is too short/],
  [{ SECRET_KEY: 'change-me-change-me-change-me-change-me-change-me' }, /^SECRET_KEY looks like an example/],
  [{ SECRET_KEY: 'aA'.repeat(40) }, /^SECRET_KEY is not random/],
  [{ SECRET_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY }, /^SECRET_KEY_PREVIOUS must be the key before SECRET_KEY/],
  [{ DATABASE_URL: postgres('one/deskbell').DATABASE_URL }, /^SECRET_KEY must be set with DATABASE_URL\./],
  [
    { DATABASE_DIRECT_URL: postgres('one/deskbell').DATABASE_URL },
    /^DATABASE_URL must be set with DATABASE_D/,
  ],
  [
    postgres('one/deskbell?sslmode=prefer'),
    /^DATABASE_URL must have disable, require, verify-ca or verify-full/,
  ],
  [postgres('one,two/deskbell?target_session_attrs=standby'), /^DATABASE_URL must have read-write or any as/],
  ...['one,,two', 'one:0,two', 'one:65536,two', '[::1:5432,two', 'one two,three'].map(
    (hosts): [Settings, RegExp] => [postgres(`${hosts}/deskbell`), /^DATABASE_URL must /],
  ),
  [{ EMBEDDINGS_URL: MODEL.EMBEDDINGS_URL }, /^EMBEDDINGS_MODEL must be set with EMBEDDINGS_URL\.$/],
  [{ EMBEDDINGS_MODEL: 'bge-m3' }, /^EMBEDDINGS_URL must be set with EMBEDDINGS_MODEL\.$/],
  [{ EMBEDDINGS_API_KEY: 'hunter2' }, /^EMBEDDINGS_URL must be set with EMBEDDINGS_API_KEY\.$/],
  [{ ...MODEL, EMBEDDINGS_API_KEY: 'hunter2 x' }, /^EMBEDDINGS_API_KEY must be 1 to 1024 printable/],
  [
    { ...MODEL, EMBEDDINGS_URL: 'https://me:hunter2@models.example' },
    /^EMBEDDINGS_URL must not contain a user/,
  ],
  [{ SMTP_URL: 'smtp://me:hunter2@mail.example', PUBLIC_URL: 'https://a.example' }, /^MAIL_FROM must be set/],
  [{ SMTP_URL: 'smtp://me:hunter2@mail.example', MAIL_FROM: 'desk@mail.example' }, /^PUBLIC_URL must be set/],
  [{ DEMO: 'true', NODE_ENV: 'production' }, /^DEMO must not be true with NODE_ENV=production/],
  ...['0.0.0.0', '::', '192.168.1.5', 'desk.example'].map((HOST): [Settings, RegExp] => [
    { DEMO: 'true', HOST },
    /^DEMO must not be true with HOST /,
  ]),
  // Also if another channel is used.
  [{ WEBHOOK_URL: 'ftp://shop.example', WEBHOOK_SECRET: WEBHOOK.WEBHOOK_SECRET }, /^WEBHOOK_URL /],
  [{ ...WEBHOOK, WEBHOOK_URL: 'http://shop.example/' }, /^WEBHOOK_URL must be .* begins with https/],
  [{ ...WHATSAPP, WHATSAPP_BASE_URL: 'http://graph.example' }, /^WHATSAPP_BASE_URL must be .* with https/],
  [{ ...WHATSAPP, WHATSAPP_BASE_URL: 'http://localhost.example' }, /^WHATSAPP_BASE_URL must be/],
  [
    { ...OTEL, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /^OTEL_EXPORTER_OTLP_PROTOCOL must be one of .*"grpc"\.$/,
  ],
  [{ ...OTEL, OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '1' }, /^OTEL_EXPORTER_OTLP_LOGS_TIMEOUT must be .*"1"\.$/],
  [{ ...OTEL, OTEL_EXPORTER_OTLP_HEADERS: 'hunter2' }, /^OTEL_EXPORTER_OTLP_HEADERS /],
  [{ ...OTEL, OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' }, /^OTEL_EXPORTER_OTLP_HEADERS /],
  [{ ...OTEL, OTEL_TRACES_SAMPLER_ARG: 'half' }, /^OTEL_TRACES_SAMPLER_ARG /],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, /^OTEL_EXPORTER_OTLP_ENDPOINT /],
];

describe('a bad setting', () => {
  it('is one line that begins with its name, without a secret', () => {
    const single = Object.entries(BAD_SETTINGS).map(([key, value]): [Settings, RegExp] => [
      { [key]: value },
      new RegExp(`^${key} `),
    ]);
    for (const [settings, line] of [...single, ...REFUSED]) {
      const problems = problemsOf(settings);
      assert.equal(problems.length, 1, `${JSON.stringify(settings)}: ${problems}`);
      assert.match(problems[0]!, line);
      assert.doesNotMatch(problems[0]!, /hunter2/);
    }
  });

  it('is reported together with all other bad ones', () => {
    const keys = problemsOf(BAD_SETTINGS).map((line) => line.split(' ')[0]!);
    assert.deepEqual(keys.sort(), Object.keys(BAD_SETTINGS).sort());
  });
});

it('an address that messages are sent to is https, unless it is on this machine or private ones are allowed', () => {
  for (const settings of [
    { ...WEBHOOK, WEBHOOK_URL: 'https://shop.example/messages' },
    { ...WEBHOOK, WEBHOOK_URL: 'http://10.0.0.5/messages', WEBHOOK_ALLOW_PRIVATE: 'true' },
    { ...WHATSAPP, WHATSAPP_BASE_URL: 'http://127.0.0.1:9000' },
    { ...WHATSAPP, WHATSAPP_BASE_URL: 'https://graph.example' },
  ])
    assert.deepEqual(problemsOf(settings), []);
});

describe('the standard variables of OpenTelemetry', () => {
  it('for one signal are used instead of those for all', () => {
    const { telemetry } = readConfig({
      ...OTEL,
      OTEL_EXPORTER_OTLP_HEADERS: 'tenant=shop,key=all',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'key=traces',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '3000',
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://127.0.0.1:9/m',
    });
    const all = { protocol: 'http/protobuf', headers: { tenant: 'shop', key: 'all' }, timeoutMs: 2000 };
    for (const [target, expected] of [
      [telemetry!.traces, { ...all, url: 'http://127.0.0.1:4318/v1/traces', headers: { key: 'traces' } }],
      [telemetry!.metrics, { ...all, url: 'http://127.0.0.1:9/m', protocol: 'http/json' }],
      [telemetry!.logs, { ...all, url: 'http://127.0.0.1:4318/v1/logs', timeoutMs: 3000 }],
    ] as const)
      assert.partialDeepStrictEqual(target, expected);
    assert.equal(readConfig({ ...OTEL, OTEL_LOGS_EXPORTER: 'none' }).telemetry?.logs, undefined);
  });

  it('that a platform sets for all programs do not stop one without an endpoint', () => {
    const protocol = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TIMEOUT: '10s' };
    const all = { ...protocol, OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' };
    const { telemetry, unknownSettings } = readConfig(all);
    assert.deepEqual([telemetry, unknownSettings], [undefined, []]);
    assert.equal(readConfig({ ...all, ...OTEL, OTEL_SDK_DISABLED: 'true' }).telemetry, undefined);
  });
});
