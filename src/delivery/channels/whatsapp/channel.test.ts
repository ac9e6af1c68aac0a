import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readConfig } from '../../../config.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import type { Database } from '../../../database/database.ts';
import { migrate } from '../../../database/migrate.ts';
import { openDatabase } from '../../../database/open.ts';
import type { Channel, Outgoing, SendResult } from '../channel.ts';
import { onOneLine, openWhatsApp } from './channel.ts';
import { classify } from './errors.ts';

const MESSAGE: Outgoing = {
  merchantId: 1 as MerchantId,
  key: 'k1',
  deliveryId: 1,
  notificationId: 1,
  conversationId: 1,
  recipient: '+3545550101',
  mode: 'reply',
  content: 'At nine.',
  attempts: 1,
  reference: null,
  context: '{}',
  createdAt: '2026-01-15T09:31:00.000Z',
  replyTo: null,
};

/** The channel needs it to keep to the rate limit. */
let database: Database;
const folder = mkdtempSync(join(tmpdir(), 'deskbell-test-'));
before(async () => {
  database = await openDatabase(readConfig({ DATA_DIR: folder }), 'serve');
  await migrate(database, () => new Date());
});
after(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

const SETTINGS = {
  ...{ version: 'v23.0', phoneNumberId: '12345', template: undefined, templateLanguage: 'en' },
  ...{ token: 'a-very-secret-token', appSecret: 'app-secret-app-secret', verifyToken: 'verify-me' },
};
const partsOf = (timeoutMs: number) => ({ database, now: () => new Date(), timeoutMs });

/** Answers that never come or never end: only these get a short time-out. */
const silent: RequestListener = () => {};
const stoppingHalfWay: RequestListener = (_request, response) =>
  response.writeHead(200).write('{"messages":');

/** A channel to a server that gives this answer. */
async function against<T>(
  answer: RequestListener | 'no server',
  work: (channel: Omit<Channel, 'type'>) => Promise<T>,
): Promise<T> {
  const timeoutMs = answer === silent || answer === stoppingHalfWay ? 500 : 60_000;
  const server = createServer(answer === 'no server' ? undefined : answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  if (answer === 'no server') await close();
  const channel = openWhatsApp({ ...SETTINGS, baseUrl: `http://127.0.0.1:${port}/` }, partsOf(timeoutMs));
  try {
    return await work(channel);
  } finally {
    await close();
  }
}

const answering =
  (status: number, body: string): RequestListener =>
  (_request, response) =>
    response.writeHead(status).end(body);

describe('a send over WhatsApp', () => {
  const send = (answer: RequestListener | 'no server') =>
    against(answer, (channel) => channel.send(MESSAGE, 'text'));
  const CASES: [title: string, answer: RequestListener | 'no server', result: object][] = [
    [
      'that is accepted',
      answering(200, '{"messages":[{"id":"w1"}]}'),
      { outcome: 'sent', messageId: 'w1', state: 'sent' },
    ],
    ['that is never answered', silent, { outcome: 'unknown', code: 'TIMEOUT' }],
    ['whose answer stops half-way', stoppingHalfWay, { outcome: 'unknown', code: 'TIMEOUT' }],
    [
      'whose connection is cut',
      (request) => request.socket.destroy(),
      { outcome: 'unknown', code: 'UND_ERR_SOCKET' },
    ],
    ['to a server that is not there', 'no server', { outcome: 'retry', code: 'ECONNREFUSED' }],
    ['accepted without an id', answering(200, '{}'), { outcome: 'unknown', code: 'UNREADABLE_RESPONSE' }],
    ['redirected', answering(307, ''), { outcome: 'retry', code: 'HTTP_307' }],
  ];
  for (const [title, answer, result] of CASES) {
    it(`${title} is ${Object.values(result).join(', ')}`, async () => {
      assert.deepEqual(await send(answer), result);
    });
  }

  it('knows that nothing was sent to an unknown host', async () => {
    const channel = openWhatsApp({ ...SETTINGS, baseUrl: 'http://nowhere.invalid' }, partsOf(60_000));
    assert.equal((await channel.send(MESSAGE, 'text')).outcome, 'retry');
  });

  it('puts a template’s parameter on one line', () => {
    assert.equal(onOneLine(' a\n\n b\tc      d\r\n'), 'a b c d');
  });
});

describe('the check of a WhatsApp number', () => {
  const error = (code: number) => `{"error":{"code":${code},"message":"a-very-secret-token"}}`;
  const CASES: [answer: RequestListener | 'no server', problem: RegExp | undefined][] = [
    [answering(200, '{"verified_name":"Aurora","id":"12345"}'), undefined],
    [answering(200, '<html>'), /not like the Cloud API/],
    [answering(401, error(190)), /access token has expired/],
    [answering(403, error(200)), /permission/],
    [answering(400, error(100)), /id of the number/],
    [answering(503, ''), /status 503/],
    ['no server', /cannot be reached \(ECONNREFUSED\)/],
    [silent, /cannot be reached \(TIMEOUT\)/],
  ];
  for (const [answer, problem] of CASES) {
    it(`reports ${problem ?? 'nothing if the number works'}`, async () => {
      const found = await against(answer, (channel) => channel.check());
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(found!, problem);
      assert.ok(!found?.includes('secret'));
    });
  }
});

describe('the table of errors', () => {
  it('has an outcome and a reason for each code', () => {
    for (const [outcome, reason, codes] of [
      ['retry', undefined, [4, 80007, 130429, 131000, 131016, 131056, 131057]],
      ['window_closed', undefined, [131047]],
      ['wait_a_day', /in a day/, [131049]],
      ['failed', /in this form/, [100, 131008, 131009]],
      ['failed', /cannot deliver to this number/, [131026]],
      ['failed', /does not want/, [131050]],
      ['failed', /kind of message/, [131051]],
      ['failed', /number of parameters/, [132000]],
      ['failed', /does not exist/, [132001]],
      ['failed', /parameter/, [132012]],
      ['failed', /paused/, [132015]],
      ['failed', /disabled/, [132016]],
      ['failed', /refused/, [987654]],
      ['channel_stopped', /token/, [3, 10, 190, 200, 299, 131005]],
      ['channel_stopped', /restricted|payment|blocked/, [368, 131031, 131042, 131048]],
    ] as const)
      for (const code of codes) {
        const result: SendResult & { reason?: string } = classify(code, 400, 1);
        assert.deepEqual([result.outcome, 'code' in result && result.code], [outcome, String(code)]);
        assert.match(result.reason ?? '', reason ?? /^$/);
      }
  });

  it('multiplies the pause of a pair by four, up to an hour', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 9].map((n) => classify(131056, 400, n));
    assert.deepEqual(
      pauses.map((result) => 'afterSeconds' in result && result.afterSeconds),
      [4, 16, 64, 256, 1024, 3600, 3600],
    );
  });

  it('uses the code first, then the status', () => {
    const outcomes = [
      classify(131026, 500, 1),
      classify(77, 503, 1),
      classify(77, 400, 1),
      classify(77, undefined, 1),
    ];
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      ['failed', 'retry', 'failed', 'failed'],
    );
    assert.deepEqual(classify(undefined, undefined, 1), {
      outcome: 'failed',
      code: 'NO_CODE',
      reason: 'WhatsApp refused the message.',
    });
  });

  it('gives up after holding a message back for 16 days', () => {
    assert.equal(classify(131049, undefined, 15).outcome, 'wait_a_day');
    assert.equal(classify(131049, undefined, 16).outcome, 'failed');
  });
});
