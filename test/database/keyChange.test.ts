import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { run, settingsOf } from '../support/command.ts';
import { engines } from '../support/databases.ts';
import {
  addUserWithTotp,
  atLocalhost,
  codeOf,
  loginWith,
  passkeyOptions,
  sendPasskey,
} from '../support/factors.ts';
import {
  check,
  ENOUGH_MS,
  isDone,
  nextCode,
  type Prepared,
  prepare,
  status,
  use,
} from '../support/keyChange.ts';
import { until } from '../support/shops.ts';

describe('a new SECRET_KEY with SECRET_KEY_PREVIOUS', () => {
  let prepared: Prepared;
  afterEach(() => prepared?.close());

  it('signs nobody out and loses nothing, and the previous key can be removed when everything is encrypted again', async () => {
    prepared = await prepare('sqlite');
    const { start, stop, keys, both, only, receiver } = prepared;
    let deskbell = await start(only(keys.old));
    const used = await use(deskbell, prepared);
    const before = await status(deskbell, both);
    assert.equal(before.total.current, 0);
    assert.equal(before.rows.length, 8);
    // Each kind is there, except former channels.
    assert.ok(before.total.previous! >= 7, JSON.stringify(before));
    assert.ok(before.previous_needed);
    await stop(deskbell);

    await assert.rejects(start(only(keys.new)), /is not the key of this database.*SECRET_KEY_PREVIOUS/);
    deskbell = await start(both);
    await check(deskbell, used, receiver);
    await until('everything is encrypted again', () => isDone(deskbell), ENOUGH_MS);
    await check(deskbell, used, receiver);
    const done = await status(deskbell, both);
    assert.deepEqual([done.total.previous, done.total.neither, done.previous_needed], [0, 0, false]);
    assert.match(done.summary, /SECRET_KEY_PREVIOUS can be removed/);
    const doctor = await run(['doctor'], { env: { ...settingsOf(deskbell), ...both, PORT: '0' } });
    assert.match(doctor.stdout, /SECRET_KEY_PREVIOUS can be removed/);
    await stop(deskbell);

    deskbell = await start(only(keys.new));
    await check(deskbell, used, receiver);
    assert.doesNotMatch(deskbell.logged.join(''), new RegExp(`${keys.old}|${keys.new}`));
    await stop(deskbell);
    await assert.rejects(start(only(keys.old)), /is not the key of this database/);
  });

  it('can come to one server after another, and nothing is encrypted with the new key before all know it', {
    skip: !engines.includes('postgres'),
  }, async () => {
    prepared = await prepare('postgres');
    const { start, stop, keys, both, only, receiver } = prepared;
    let [first, second] = [await start(only(keys.old)), await start(only(keys.old))];
    const used = await use(first, prepared);
    await stop(second);
    second = await start(both);

    // The new server meanwhile looks many times whether all know its key.
    used.authenticator.origin = atLocalhost(first).url;
    const challenge = (await passkeyOptions(atLocalhost(second))).json;
    assert.equal((await sendPasskey(atLocalhost(first), used.authenticator.get(challenge))).status, 200);
    // What the new server stores, the old one can read.
    const user = await addUserWithTotp(second);
    await nextCode(first);
    assert.equal((await loginWith(first, user, codeOf(first, user.secret))).status, 200);
    await check(first, used, receiver);
    await check(second, used, receiver);
    const waiting = await status(second, both);
    assert.equal(waiting.total.current, 0);
    assert.match(waiting.summary, /1 process is running without the new SECRET_KEY/);

    await stop(first);
    first = await start(both);
    await until('everything is encrypted again', () => isDone(first) || isDone(second), ENOUGH_MS);
    assert.deepEqual((await status(second, both)).total.previous, 0);
    await until('both encrypt with the new key', () => isDone(first) && isDone(second), ENOUGH_MS);
    await check(first, used, receiver);
    await stop(second);
    second = await start(only(keys.new));
    await check(second, used, receiver);
    await check(first, used, receiver);
  });
});
