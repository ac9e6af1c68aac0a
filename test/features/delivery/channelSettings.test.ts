import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, it } from 'node:test';
import type { Database } from '../../../src/database/database.ts';
import { WEBHOOK } from '../../../src/delivery/channels/registry.ts';
import {
  ChannelSettingsError,
  readOwnSettings,
  removeOwnChannel,
  setDailyLimit,
  setOwnChannel,
} from '../../../src/delivery/channels/settings.ts';
import { dailyLimitOf } from '../../../src/delivery/quota.ts';
import { createVault, newSecretKey } from '../../../src/secrets.ts';
import { isGenuine, type Receiver, startReceiver } from '../../support/receiver.ts';
import { FIRST, SECOND, type Sending, startSending } from '../../support/sending.ts';
import { onEachEngine } from '../../support/server.ts';

const secretOf = (word: string) => `whsec_${Buffer.alloc(30, word).toString('base64')}`;
const SHARED = secretOf('of everybody');
const OWN = secretOf('of the first one');
const NEW = secretOf('another one');

onEachEngine('a merchant’s own channel', (engine) => {
  let shared: Receiver;
  let own: Receiver;
  let sending: Sending;
  before(async () => {
    [shared, own] = await Promise.all([startReceiver(), startReceiver()]);
    sending = await startSending(engine, {
      settings: {
        CHANNEL: 'webhook',
        WEBHOOK_URL: shared.url,
        WEBHOOK_SECRET: SHARED,
        WEBHOOK_ALLOW_PRIVATE: 'true',
      },
    });
  });
  after(async () => {
    await sending?.close();
    await Promise.all([shared.close(), own.close()]);
  });
  afterEach(() => {
    shared.received.length = 0;
    own.received.length = 0;
  });

  const setOwn = (secret: string, url = own.url) =>
    setOwnChannel(
      sending.database,
      sending.vault,
      FIRST,
      { type: WEBHOOK, settings: { url, secret, allowPrivate: true } },
      sending.clock.now(),
    );
  const sendBoth = async () => {
    await sending.put(FIRST);
    await sending.put(SECOND);
    await sending.settle();
  };

  it('replaces the environment’s, for that merchant only', async () => {
    await sendBoth();
    assert.deepEqual([shared.received.length, own.received.length], [2, 0]);
    shared.received.length = 0;

    await setOwn(OWN);
    await sending.clock.advance(5);
    await sendBoth();
    assert.deepEqual([shared.received.length, own.received.length], [1, 1]);
    assert.ok(isGenuine(shared.received[0]!, SHARED));
    assert.ok(isGenuine(own.received[0]!, OWN));
  });

  it('can change while a worker runs, which uses the new one within five seconds', async () => {
    await sendBoth();
    await setOwn(NEW);
    await sending.clock.advance(5);
    await sendBoth();
    assert.deepEqual(
      own.received.map((call) => isGenuine(call, NEW)),
      [false, true],
    );
  });

  it('is encrypted: its secret and URL are nowhere in the database', async () => {
    await setOwn(OWN);
    const stored = await everything(sending);
    for (const plain of [OWN, OWN.slice(6), '/hooks/deskbell']) {
      assert.ok(!stored.includes(plain), 'found in the database');
    }
    // The search works: it finds text that is stored.
    assert.ok(stored.includes('Borealis'));
  });

  it('can be decrypted only with its own key and for its own merchant', async () => {
    const { database, vault } = sending;
    const settings = await readOwnSettings(database, vault, FIRST);
    assert.deepEqual(settings?.channel, {
      name: 'webhook',
      settings: { url: own.url, secret: OWN, allowPrivate: true },
    });
    await assert.rejects(readOwnSettings(database, createVault(newSecretKey()), FIRST), /another SECRET_KEY/);
    await database.run(
      `insert into channel_settings (merchant_id, channel, sealed_settings, updated_at)
        select 2, channel, sealed_settings, updated_at from channel_settings where merchant_id = 1`,
    );
    await assert.rejects(readOwnSettings(database, vault, SECOND), /another SECRET_KEY/);
    await database.run('delete from channel_settings where merchant_id = 2');
  });

  it('is refused with all mistakes at once, and nothing changes', async () => {
    const { database, vault, clock } = sending;
    const before = await readOwnSettings(database, vault, FIRST);
    const refused = (problems: RegExp[]) => (error: unknown) => {
      assert.ok(error instanceof ChannelSettingsError);
      assert.equal(error.problems.length, problems.length, error.message);
      for (const [index, problem] of problems.entries()) {
        const { field, text } = error.problems[index]!;
        assert.match(`${field.variable} ${text}`, problem);
      }
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    };
    const set = (settings: { url: string; secret: string; allowPrivate: boolean }) =>
      setOwnChannel(database, vault, FIRST, { type: WEBHOOK, settings }, clock.now());
    await assert.rejects(
      set({ url: 'ftp://hooks.example', secret: 'hunter2', allowPrivate: false }),
      refused([/WEBHOOK_URL/, /WEBHOOK_SECRET/]),
    );
    for (const url of [own.url, 'https://localhost/hook', 'https://a.localhost./hook']) {
      await assert.rejects(
        set({ url, secret: OWN, allowPrivate: false }),
        refused([/must not lead into a private network/]),
      );
    }
    await assert.rejects(setDailyLimit(database, FIRST, 0, clock.now()), /whole number from 1/);
    assert.deepEqual(await readOwnSettings(database, vault, FIRST), before);
  });

  it('and its limit can be set and removed independently', async () => {
    const { database, vault, clock } = sending;
    await setDailyLimit(database, FIRST, 1000, clock.now());
    assert.equal(await dailyLimitOf(database, FIRST, 250), 1000);
    assert.equal(await dailyLimitOf(database, SECOND, 250), 250);

    assert.equal(await removeOwnChannel(database, FIRST, clock.now()), true);
    assert.equal(await removeOwnChannel(database, FIRST, clock.now()), false);
    await sending.clock.advance(5);
    await sendBoth();
    assert.deepEqual([shared.received.length, own.received.length], [2, 0]);
    const left = await readOwnSettings(database, vault, FIRST);
    assert.deepEqual([left?.channel, left?.dailyLimit], [undefined, 1000]);

    await setDailyLimit(database, FIRST, undefined, clock.now());
    assert.equal(await dailyLimitOf(database, FIRST, 250), 250);
  });
});

/** The whole content of the database as text: the files of SQLite, every row of PostgreSQL. */
async function everything({ database, env }: Sending): Promise<string> {
  if (database.engine === 'sqlite') {
    return globSync(join(env.DATA_DIR!, 'deskbell.db*'))
      .map((file) => readFileSync(file, 'latin1'))
      .join('');
  }
  return rowsOf(database);
}

async function rowsOf(database: Database): Promise<string> {
  const tables = await database.all<{ name: string }>(
    `select table_name::text as name from information_schema.tables where table_schema = 'public'`,
  );
  let text = '';
  for (const { name } of tables) {
    const row = await database.one<{ rows: string | null }>(
      `select string_agg(t::text, ' ') as rows from "${name}" t`,
    );
    text += row?.rows ?? '';
  }
  return text;
}
