import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { assertFailure, run } from '../support/command.ts';
import { isGenuine, type Receiver, startReceiver } from '../support/receiver.ts';
import { type Sending, startSending } from '../support/sending.ts';
import { AURORA_ID, BOREALIS_ID } from '../support/shops.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'command').toString('base64')}`;
const WHATSAPP = {
  token: 'EAAG-a-long-token',
  app_secret: 'an-app-secret-of-some-length',
  verify_token: 'verify-me',
};

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
    const { settings, limit, used, state, ...shown } = await json(['channel', 'show', '--merchant', '1']);
    assert.deepEqual([shown.channel, shown.own_channel, shown.own_limit], ['simulator', false, false]);
    assert.deepEqual([settings, limit, used, state], [{}, 1, 0, 'ok']);
    assertFailure(await deskbell(['channel', 'show', '--merchant', '9']), 1, /There is no merchant 9/);
  });

  it('give a merchant its own webhook, test it without sending, and do not show its secret', async () => {
    const shown = await setWebhook('1', `${receiver.url}?key=abc`);
    assert.equal(shown.own_channel, true);
    assert.deepEqual(shown.settings, { url: `${receiver.url}?…`, 'allow-private': 'yes', secret: 'set' });
    const seen = await deskbell(['channel', 'show', '--merchant', '1']);
    assert.match(seen.stdout, /^MERCHANT 1 +Aurora\nchannel +webhook\n/);
    assert.ok(!seen.stdout.includes(SECRET.slice(6)) && !seen.stdout.includes('abc'));
    assert.equal((await json(['channel', 'test', '--merchant', '1'])).ok, true);
    assert.equal(receiver.received.length, 0);

    await sending.clock.advance(5);
    await sending.put(AURORA_ID);
    await sending.put(BOREALIS_ID);
    await sending.settle();
    assert.equal(receiver.received.length, 1);
    assert.ok(isGenuine(receiver.received[0]!, SECRET));

    await setWebhook('2', 'http://127.0.0.1:1/');
    const broken = await deskbell(['channel', 'test', '--merchant', '2']);
    assert.equal(broken.code, 1);
    assert.match(
      broken.stdout,
      /channel webhook of Borealis has a problem: 127\.0\.0\.1: connection refused/,
    );
  });

  it('read the secrets as lines or as JSON', async () => {
    const args = 'channel set whatsapp --merchant 2 --phone-number-id 123456789 --template one'.split(' ');
    for (const input of [JSON.stringify(WHATSAPP), `${Object.values(WHATSAPP).join('\r\n')}\n`]) {
      const { settings } = await json(args, input);
      assert.deepEqual([settings.template, settings['template-language']], ['one', 'en']);
      assert.deepEqual([settings.token, settings.app_secret, settings.verify_token], Array(3).fill('set'));
    }
  });

  it('refuse wrong values, name the option, and never print a secret', async () => {
    const before = await json(['channel', 'show', '--merchant', '2']);
    const whatsapp = 'whatsapp --phone-number-id 123456789';
    const refused: [words: string, input: string, code: number, message: RegExp][] = [
      [
        'webhook --url ftp://hooks.example',
        'hunter2',
        1,
        /^--url must be an address.*\nThe secret secret must be "whsec_"/,
      ],
      [`webhook --url ${receiver.url}`, SECRET, 1, /^--url must not lead into a private network/],
      [`webhook --url ${receiver.url} --template a`, '', 2, /--template belongs to the channel whatsapp/],
      ['pigeon', '', 2, /CHANNEL is one of simulator, webhook, whatsapp/],
      [`webhook --url ${receiver.url} --secret hunter2`, '', 2, /Others can read a secret on the command/],
      [whatsapp, 'hunter2', 1, /must contain token, app_secret, verify_token: one per line, or as JSON/],
      [whatsapp, '{"token": "hunter2", "secret": "hunter2"}', 1, /must have token, app_secret, verify_token/],
      [whatsapp, '{"token": "hunter2"', 1, /not valid JSON/],
    ];
    for (const [words, input, code, message] of refused) {
      const args = ['channel', 'set', ...words.split(' '), '--merchant', '2'];
      assertFailure(await deskbell(args, input), code, message);
    }
    assert.deepEqual(await json(['channel', 'show', '--merchant', '2']), before);
    assert.equal((await json(['channel', 'unset', '--merchant', '2'])).channel, 'simulator');
    const again = await deskbell(['channel', 'unset', '--merchant', '2']);
    assert.match(again.stdout, /Borealis does not have its own channel/);
  });

  it('raise the daily limit, and send the messages that waited for it', async () => {
    const campaign = (recipient: string) => sending.put(AURORA_ID, { mode: 'campaign', recipient });
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
    for (const wrong of ['0', '1.5', '99999999999'])
      assertFailure(await run(['channel', 'limit', wrong, '--merchant', '1']), 2, /N is a whole number/);
  });

  it('show a channel that a 410 has stopped, and resume it', async () => {
    assert.match((await deskbell(['channel', 'resume'])).stdout, /No channel is stopped/);
    receiver.answer = (response) => response.writeHead(410).end();
    const id = await sending.put(AURORA_ID);
    await sending.settle();
    const { state, code, until } = await json(['channel', 'show', '--merchant', '1']);
    assert.deepEqual([state, code, until], ['stopped', 'HTTP_410', null]);
    const seen = await deskbell(['channel', 'show', '--merchant', '1']);
    assert.match(seen.stdout, /\nstate +stopped since .+ UTC \(HTTP_410\), until you resume it\n/);
    const doctor = await deskbell(['doctor']);
    assert.match(
      doctor.stdout,
      /✖ The channel webhook:\w+ has refused our messages since .+ It stays stopped\./,
    );

    receiver.answer = (response) => response.writeHead(200).end();
    await sending.settle(86_400);
    assert.equal((await sending.row(id)).state, 'queued');
    const { resumed } = await json(['channel', 'resume']);
    assert.match(String(resumed), /^webhook:[\da-f]{16}$/);
    await sending.settle();
    assert.equal((await sending.row(id)).state, 'sent');
  });

  it('list and show messages', async () => {
    receiver.answer = (response) => response.writeHead(404).end();
    const id = String(await sending.put(AURORA_ID, { content: 'a\u001b[31mb' }));
    // Longer than any pause of the schedule.
    for (let days = 0; days < 20 && (await sending.row(Number(id))).state === 'queued'; days += 1) {
      await sending.settle(1.3 * 86_400);
    }
    const failed = await deskbell(['delivery', 'list', '--merchant', '1', '--state', 'failed']);
    assert.match(failed.stdout, /^ID +WRITTEN[^\n]+\n\d+ .* failed +\d+ +– +\S/);
    const [one, ...others] = await json(['delivery', 'list', '--state', 'failed']);
    assert.deepEqual([one.merchant_id, one.id, others], [1, Number(id), []]);
    const shown = await deskbell(['delivery', 'show', id, '--merchant', '1']);
    assert.match(shown.stdout, /content +ab\n.+AT \(UTC\).+ failed +HTTP_404 /s);
    assertFailure(await deskbell(['delivery', 'show', id, '--merchant', '2']), 1, /has no delivery/);
    const lost = await run(['delivery', 'list', '--merchant', '1', '--state', 'lost']);
    assertFailure(lost, 2, /--state is one of/);
  });

  it('are checked by doctor, which reports broken channels and waiting messages', async () => {
    assertFailure(await deskbell(['work']), 1, /^With the embedded database only the server sends messages/);
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
    await sending.put(AURORA_ID, { at: new Date(Date.now() - 10 * 60_000) });
    const broken = await deskbell(['doctor']);
    assert.equal(broken.code, 1);
    assert.match(
      broken.stdout,
      /✖ The channel of merchant 2, webhook, has a problem: .* connection refused\./,
    );
    assert.match(
      broken.stdout,
      /✖ 1 message to be sent, but no worker sends it: .* 10 minutes\.\n +Start the/,
    );
  });
});
