import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openVault } from '../../../src/auth/vault.ts';
import type { MerchantId } from '../../../src/contract/ids.ts';
import { WEBHOOK, WHATSAPP } from '../../../src/delivery/channels/registry.ts';
import { setDailyLimit, setOwnChannel } from '../../../src/delivery/channels/settings.ts';
import { type ChannelStop, refusedStop, stopChannel } from '../../../src/delivery/worker/stops.ts';
import { assertError, BOREALIS, onEachEngine, raise, useDeskbell } from '../../support/server.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'channel api').toString('base64')}`;
const SHARED = {
  CHANNEL: 'webhook',
  WEBHOOK_URL: 'http://127.0.0.1:1/everybody',
  WEBHOOK_SECRET: SECRET,
  WEBHOOK_ALLOW_PRIVATE: 'true',
};
const OK = { state: 'ok', code: null, since: null, until: null };

onEachEngine('GET /api/v1/channel', (engine) => {
  const deskbell = useDeskbell(engine, SHARED);
  const show = async (token: string) => {
    // Settings are read again after five seconds.
    await deskbell.clock.advance(5);
    const reply = await deskbell.call('GET', '/api/v1/channel', { token });
    assert.equal(reply.status, 200, reply.text);
    return reply;
  };

  it('shows a merchant without its own channel which one it uses, but not the operator’s settings', async () => {
    const { json, text } = await show(await deskbell.signIn());
    assert.deepEqual(json, {
      channel: 'webhook',
      own: false,
      settings: {},
      number_id: null,
      daily_limit: 250,
      used: 0,
      ...OK,
    });
    assert.ok(!text.includes('everybody'));
  });

  it('shows a merchant its own channel, without secrets and operator settings, and nobody else', async () => {
    const { database, clock } = deskbell;
    const vault = openVault(deskbell.config);
    await setOwnChannel(
      database,
      vault,
      1 as MerchantId,
      {
        type: WEBHOOK,
        settings: { url: 'https://me:pw@shop.example/in?key=abc', secret: SECRET, allowPrivate: true },
      },
      clock.now(),
    );
    await setDailyLimit(database, 1 as MerchantId, 1000, clock.now());
    const { json, text } = await show(await deskbell.signIn());
    assert.deepEqual(json, {
      channel: 'webhook',
      own: true,
      settings: { url: 'https://shop.example/in?…' },
      number_id: null,
      daily_limit: 1000,
      used: 0,
      ...OK,
    });
    for (const hidden of [SECRET.slice(6), 'abc', 'pw']) assert.ok(!text.includes(hidden), hidden);
    const other = await show(await deskbell.signIn(BOREALIS.email, BOREALIS.password));
    assert.deepEqual([other.json.own, other.json.settings, other.json.daily_limit], [false, {}, 250]);

    await setOwnChannel(
      database,
      vault,
      1 as MerchantId,
      {
        type: WHATSAPP,
        settings: {
          ...{ phoneNumberId: '123456', template: undefined, templateLanguage: 'pt_BR', version: 'v23.0' },
          ...{ baseUrl: 'https://10.0.0.1', token: 'a-secret-token', verifyToken: 'verify-me' },
          appSecret: 'an-app-secret-of-some-length',
        },
      },
      clock.now(),
    );
    const { settings, number_id } = (await show(await deskbell.signIn())).json;
    assert.deepEqual(settings, {
      'phone-number-id': '123456',
      'template-language': 'pt_BR',
      version: 'v23.0',
    });
    assert.equal(number_id, '123456');
  });

  it('shows that the channel is stopped or does not answer, since when and why', async () => {
    const { database, clock } = deskbell;
    const token = await deskbell.signIn();
    const since = clock.now();
    const stateAfter = async (stop: ChannelStop) => {
      await stopChannel(database, stop, clock.now());
      const { state, code, since: shownSince, until } = (await show(token)).json;
      return { state, code, since: shownSince, until };
    };
    const refused = refusedStop('whatsapp:123456', '190', since);
    const facts = { code: '190', since: since.toISOString() };
    assert.deepEqual(await stateAfter(refused), { ...facts, state: 'stopped', until: refused.until });
    assert.deepEqual(await stateAfter(refusedStop('whatsapp:123456', '190', since, true)), {
      ...facts,
      state: 'stopped',
      until: null,
    });
    // A stopped channel stays stopped, even if it also does not answer.
    const silent = { ...refused, kind: 'not_answering', code: 'TIMEOUT' } as const;
    assert.equal((await stateAfter(silent)).state, 'stopped');
    await database.run('delete from channel_stops');
    assert.deepEqual(await stateAfter(silent), {
      ...facts,
      code: 'TIMEOUT',
      state: 'not_answering',
      until: refused.until,
    });
    const other = await show(await deskbell.signIn(BOREALIS.email, BOREALIS.password));
    assert.equal(other.json.state, 'ok');
  });

  it('counts the customers that campaigns have reached', async () => {
    const token = await deskbell.signIn(BOREALIS.email, BOREALIS.password);
    const address = await raise(deskbell, token, {
      notification_type: 'user_question_request',
      conversation_id: 4,
      context: { question: 'Is it open?' },
    });
    const body = { answer: 'Yes.', only_send_campaign: true };
    await deskbell.call('POST', `${address}/answer`, { token, body });
    await deskbell.allSent();
    assert.equal((await show(token)).json.used, 1);
  });

  it('needs a merchant’s token', async () => {
    assertError(await deskbell.call('GET', '/api/v1/channel'), 401, 'INVALID_TOKEN');
  });
});
