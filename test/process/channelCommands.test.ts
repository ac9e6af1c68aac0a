import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { type Run, run } from '../support/command.ts';
import { isGenuine, type Receiver, startReceiver } from '../support/receiver.ts';
import { FIRST, SECOND, type Sending, startSending } from '../support/sending.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'command').toString('base64')}`;
const WHATSAPP = {
  token: 'EAAG-a-long-token',
  app_secret: 'an-app-secret-of-some-length',
  verify_token: 'verify-me',
};

function assertFailure({ code, stdout, stderr }: Run, expectedCode: number, message: RegExp): void {
  assert.match(stderr, message);
  assert.equal(code, expectedCode, stderr);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /hunter2/);
}

describe('channels on the command line', () => {
  let receiver: Receiver;
  let sending: Sending;
  before(async () => {
    receiver = await startReceiver();
    sending = await startSending('sqlite', { settings: { CHANNEL_DAILY_LIMIT: '1', PORT: '0' } });
  });
  after(async () => {
    await sending?.close();
    await receiver.close();
  });
  afterEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(204).end();
  });
  const deskbell = (args: string[], input = '') => run(args, { env: sending.env, input });
  const json = async (args: string[], input = '') => {
    const done = await deskbell([...args, '--json'], input);
    assert.equal(done.code, 0, done.stderr);
    return done.json;
  };
  const setWebhook = (merchant: string, url: string) =>
    json(['channel', 'set', 'webhook', '--merchant', merchant, '--url', url, '--allow-private'], SECRET);

  it('show the channel that a merchant gets from the settings', async () => {
    assert.deepEqual(await json(['channel', 'show', '--merchant', '1']), {
      merchant_id: 1,
      channel: 'simulator',
      own_channel: false,
      settings: {},
      limit: 1,
      own_limit: false,
      used: 0,
      state: 'ok',
      code: null,
      since: null,
      until: null,
    });
    assertFailure(await deskbell(['channel', 'show', '--merchant', '9']), 1, /There is no merchant 9/);
  });

  it('give a merchant its own webhook, and do not show its secret', async () => {
    const shown = await setWebhook('1', `${receiver.url}?key=abc`);
    assert.equal(shown.own_channel, true);
    assert.deepEqual(shown.settings, {
      url: `${receiver.url}?…`,
      'allow-private': 'yes',
      secret: 'set',
    });
    const seen = await deskbell(['channel', 'show', '--merchant', '1']);
    assert.match(seen.stdout, /^MERCHANT 1 +Aurora\nchannel +webhook\n/);
    assert.ok(!seen.stdout.includes(SECRET.slice(6)) && !seen.stdout.includes('abc'));

    await sending.clock.advance(5);
    await sending.put(FIRST);
    await sending.put(SECOND);
    await sending.settle();
    assert.equal(receiver.received.length, 1);
    assert.ok(isGenuine(receiver.received[0]!, SECRET));
  });

  it('test a channel without sending', async () => {
    assert.deepEqual(await json(['channel', 'test', '--merchant', '1']), {
      channel: 'webhook',
      ok: true,
      problem: null,
    });
    assert.equal(receiver.received.length, 0);
    await setWebhook('2', 'http://127.0.0.1:1/');
    const broken = await deskbell(['channel', 'test', '--merchant', '2']);
    assert.equal(broken.code, 1);
    assert.match(
      broken.stdout,
      /The channel webhook of Borealis has a problem: 127\.0\.0\.1: connection refused/,
    );
  });

  it('read the secrets as lines or as JSON', async () => {
    const args = [
      'channel',
      'set',
      'whatsapp',
      '--merchant',
      '2',
      '--phone-number-id',
      '123456789',
      '--template',
      'one',
    ];
    for (const input of [JSON.stringify(WHATSAPP), `${Object.values(WHATSAPP).join('\r\n')}\n`])
      assert.deepEqual((await json(args, input)).settings, {
        'phone-number-id': '123456789',
        template: 'one',
        'template-language': 'en',
        'base-url': 'https://graph.facebook.com/',
        version: 'v23.0',
        token: 'set',
        app_secret: 'set',
        verify_token: 'set',
      });
  });

  it('refuse wrong values, name the option, and never print a secret', async () => {
    const before = await json(['channel', 'show', '--merchant', '2']);
    const whatsapp = 'whatsapp --phone-number-id 123456789';
    const refused: [words: string, input: string, code: number, message: RegExp][] = [
      ['webhook', SECRET, 1, /^--url must be an address/],
      [
        'webhook --url ftp://hooks.example',
        'hunter2',
        1,
        /^--url must be an address.*\nThe secret secret must be "whsec_"/,
      ],
      [`webhook --url ${receiver.url}`, SECRET, 1, /^--url must not lead into a private network/],
      [
        `webhook --url ${receiver.url} --template a`,
        '',
        2,
        /--template belongs to the channel whatsapp, not to webhook/,
      ],
      ['pigeon', '', 2, /CHANNEL is one of simulator, webhook, whatsapp/],
      [
        `webhook --url ${receiver.url} --secret hunter2`,
        '',
        2,
        /Others can read a secret on the command line/,
      ],
      [whatsapp, 'hunter2', 1, /must contain token, app_secret, verify_token: one per line, or as JSON/],
      [whatsapp, '{"token": "hunter2", "secret": "hunter2"}', 1, /must have token, app_secret, verify_token/],
      [whatsapp, '{"token": "hunter2"', 1, /not valid JSON/],
    ];
    for (const [words, input, code, message] of refused)
      assertFailure(
        await deskbell(['channel', 'set', ...words.split(' '), '--merchant', '2'], input),
        code,
        message,
      );
    assert.deepEqual(await json(['channel', 'show', '--merchant', '2']), before);
  });

  it('remove a channel', async () => {
    assert.equal((await json(['channel', 'unset', '--merchant', '2'])).channel, 'simulator');
    const again = await deskbell(['channel', 'unset', '--merchant', '2']);
    assert.match(again.stdout, /Borealis does not have its own channel/);
  });

  it('raise the daily limit, and send the messages that waited for it', async () => {
    const campaign = (recipient: string) => sending.put(FIRST, { mode: 'campaign', recipient });
    await campaign('+3545550111');
    const second = await campaign('+3545550112');
    await sending.settle();
    assert.equal((await sending.row(second)).state, 'waiting');

    // Before the change: the worker may use the raised limit before the command has read how many were used.
    assert.equal((await json(['channel', 'show', '--merchant', '1'])).used, 1);
    const raised = await json(['channel', 'limit', '20', '--merchant', '1']);
    assert.deepEqual([raised.limit, raised.own_limit], [20, true]);
    await sending.settle();
    assert.equal((await sending.row(second)).state, 'sent');
    assert.equal((await json(['channel', 'show', '--merchant', '1'])).used, 2);

    assert.equal((await json(['channel', 'limit', 'default', '--merchant', '1'])).limit, 1);
    for (const wrong of ['0', '1.5', 'many', '99999999999']) {
      assertFailure(await run(['channel', 'limit', wrong, '--merchant', '1']), 2, /N is a whole number/);
    }
  });

  it('show a channel that a 410 has stopped, and resume it', async () => {
    assert.match((await deskbell(['channel', 'resume'])).stdout, /No channel is stopped/);
    receiver.answer = (response) => response.writeHead(410).end();
    const id = await sending.put(FIRST);
    await sending.settle();
    const { state, code, until } = await json(['channel', 'show', '--merchant', '1']);
    assert.deepEqual([state, code, until], ['stopped', 'HTTP_410', null]);
    const seen = await deskbell(['channel', 'show', '--merchant', '1']);
    assert.match(seen.stdout, /\nstate +stopped since .+ UTC \(HTTP_410\), until you resume it\n/);
    assert.match(
      (await deskbell(['doctor'])).stdout,
      /✖ The channel webhook:[\da-f]{16} has refused our messages since .+ \(HTTP_410\)\. It stays stopped\.\n +Fix the cause, then run "npm run deskbell -- channel resume"/,
    );

    receiver.answer = (response) => response.writeHead(200).end();
    await sending.settle(86_400);
    assert.equal((await sending.row(id)).state, 'queued');
    const { resumed } = await json(['channel', 'resume']);
    assert.match(String(resumed), /^webhook:[\da-f]{16}$/);
    await sending.settle();
    assert.equal((await sending.row(id)).state, 'sent');
  });

  it('list, show and retry messages', async () => {
    receiver.answer = (response) => response.writeHead(404).end();
    const id = String(await sending.put(FIRST, { content: 'a\u001b[31mb' }));
    // Longer than any pause of the schedule.
    for (let days = 0; days < 20 && (await sending.row(Number(id))).state === 'queued'; days += 1) {
      await sending.settle(1.3 * 86_400);
    }
    const failed = await deskbell(['delivery', 'list', '--merchant', '1', '--state', 'failed']);
    assert.match(failed.stdout, /^ID +WRITTEN[^\n]+\n\d+ .* failed +\d+ +– +\S/);
    const all = await json(['delivery', 'list', '--state', 'failed']);
    assert.deepEqual(
      all.map((row: { merchant_id: number; id: number }) => [row.merchant_id, row.id]),
      [[1, Number(id)]],
    );
    const everywhere = await deskbell(['delivery', 'list']);
    assert.match(everywhere.stdout, /^MERCHANT +ID +WRITTEN/);
    const shown = await deskbell(['delivery', 'show', id, '--merchant', '1']);
    assert.match(shown.stdout, /content +ab\n.+AT \(UTC\).+ failed +HTTP_404 /s);
    assertFailure(await deskbell(['delivery', 'show', id, '--merchant', '2']), 1, /has no delivery/);

    receiver.answer = (response) => response.writeHead(200).end();
    assert.equal((await json(['delivery', 'retry', id, '--merchant', '1'])).state, 'queued');
    await sending.settle();
    assert.equal((await sending.row(Number(id))).state, 'sent');
    assertFailure(await deskbell(['delivery', 'retry', id, '--merchant', '1']), 1, /has not failed/);
    assertFailure(
      await run(['delivery', 'list', '--merchant', '1', '--state', 'lost']),
      2,
      /--state is one of/,
    );
  });

  it('are checked by doctor, which reports broken channels and waiting messages', async () => {
    const healthy = await deskbell(['doctor']);
    assert.match(healthy.stdout, /✔ The channel from the settings, simulator, works\./);
    assert.match(healthy.stdout, /✔ 1 own channel of merchants checked\./);
    assert.match(healthy.stdout, /✔ No message is waiting to be sent\./);

    await setWebhook('2', 'http://127.0.0.1:1/');
    await sending.worker.stop();
    // A worker that stopped before it looked once more leaves its queue like this.
    await sending.database.run(
      `update delivery_queues set due_at = '2026-01-01T00:00:00.000Z' returning 1 as one`,
    );
    assert.match((await deskbell(['doctor'])).stdout, /✔ No message is waiting to be sent\./);
    await sending.put(FIRST, { at: new Date(Date.now() - 10 * 60_000) });
    const broken = await deskbell(['doctor']);
    assert.equal(broken.code, 1);
    assert.match(
      broken.stdout,
      /✖ The channel of merchant 2, webhook, has a problem: 127\.0\.0\.1: connection refused\.\n +Fix the receiving system, or correct the address with "npm run deskbell -- channel set --merchant 2 CHANNEL"\./,
    );
    assert.match(
      broken.stdout,
      /✖ 1 message to be sent, but no worker sends it: it has been due for 10 minutes\.\n +Start the server/,
    );
  });

  it('do not open the embedded database while its server runs', async () => {
    assertFailure(await deskbell(['work']), 1, /^With the embedded database only the server sends messages/);
  });
});
