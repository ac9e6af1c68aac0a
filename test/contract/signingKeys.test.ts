import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { SERVER } from '../../src/audit/record.ts';
import { removeKeysReplacedBefore, rotateKeys } from '../../src/auth/keys.ts';
import { openVault } from '../../src/auth/vault.ts';
import { newSecretKey } from '../../src/secrets.ts';
import {
  afterReload,
  assertError,
  type Deskbell,
  login,
  me,
  onEachEngine,
  type Reply,
  refresh,
  startSecondServer,
  useDeskbell,
} from '../support/server.ts';

/** If a token names an unknown key, a server reads the keys again after a second. */
const RELOADED_FOR_UNKNOWN_SECONDS = 2;

const kidOf = (token: string) => decodeProtectedHeader(token).kid;
const isOk = ({ status }: Reply) => status === 200;
const isRefused = (reply: Reply) => !isOk(reply);
const rotate = ({ database, config, clock }: Deskbell, revoke = false) =>
  rotateKeys(database, openVault(config), clock.now(), { revoke }, SERVER);

/** The tests run in this order on one server. */
onEachEngine('signing keys', (engine) => {
  const server = useDeskbell(engine);
  const untilSignedBy = async (kid: string) => {
    const isNew = ({ json }: Reply) => kidOf(json.access_token) === kid;
    return (await afterReload(server, () => login(server), isNew)).json;
  };

  it('anybody can verify a token with the public keys, and no private key is published', async () => {
    const { access_token, refresh_token } = (await login(server)).json;
    const reply = await server.call('GET', '/.well-known/jwks.json');
    assert.match(reply.headers.get('cache-control')!, /max-age=60/);
    const jwks = reply.json;
    for (const key of jwks.keys)
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    const keys = createLocalJWKSet(jwks);
    const currentDate = server.clock.now();
    const { payload } = await jwtVerify(access_token, keys, {
      issuer: 'deskbell',
      audience: 'deskbell:api',
      typ: 'at+jwt',
      algorithms: ['EdDSA'],
      currentDate,
    });
    assert.equal(payload.merchant_id, 1);
    await jwtVerify(refresh_token, keys, { audience: 'deskbell:refresh', typ: 'rt+jwt', currentDate });
  });

  it('a replaced key is kept until the last token it signed has expired', async () => {
    const first = kidOf(await server.signIn());
    await server.clock.advance(60);
    const replacedAt = server.clock.now().getTime();
    const { kid } = await rotate(server);
    const removed = (afterMs: number) =>
      removeKeysReplacedBefore(server.database, new Date(replacedAt + afterMs));
    assert.deepEqual(await removed(-1000), []);
    assert.deepEqual(await removed(60_000), [first]);
    assert.deepEqual(await removed(600_000), [], 'the last key must stay');
    await untilSignedBy(kid);
  });

  it('a new key signs new tokens, and older tokens stay valid', async () => {
    const before = (await login(server)).json;
    const { kid } = await rotate(server);
    const fresh = await untilSignedBy(kid);
    assert.equal(kidOf(fresh.access_token), kid);
    assert.equal(kidOf(fresh.refresh_token), kid);
    assert.notEqual(kidOf(before.access_token), kid);
    for (const token of [before.access_token, fresh.access_token]) {
      assert.equal((await me(server, token)).status, 200);
    }
    const refreshed = await refresh(server, before.refresh_token);
    assert.equal(kidOf(refreshed.json.access_token), kid);
  });

  it('tokens of a removed key are INVALID_TOKEN, even those that were used before', async () => {
    const before = (await login(server)).json;
    assert.equal((await me(server, before.access_token)).status, 200);
    await rotate(server, true);
    const seenBefore = () => me(server, before.access_token);
    // Twice: the first request reads the keys again, the second must not find the token in the cache.
    assertError(await afterReload(server, seenBefore, isRefused), 401, 'INVALID_TOKEN');
    assertError(await me(server, before.access_token), 401, 'INVALID_TOKEN');
    assertError(await refresh(server, before.refresh_token), 401, 'INVALID_TOKEN');
    assert.equal((await me(server, await server.signIn())).status, 200);
  });

  if (engine === 'postgres') {
    it('a server accepts a token of a key that another server has just created', async () => {
      const { kid } = await rotate(server);
      const second = await startSecondServer(server);
      try {
        const token = await second.signIn();
        assert.equal(kidOf(token), kid);
        const reply = await afterReload(server, () => me(server, token), isOk, RELOADED_FOR_UNKNOWN_SECONDS);
        assert.equal(reply.status, 200);
      } finally {
        await second.close();
      }
    });
  }

  it('a key that cannot be decrypted signs nobody in: no token is issued that would be refused', async () => {
    server.logged.length = 0;
    const before = (await login(server)).json;
    // As by a command with another SECRET_KEY. It also removes the key that signs now.
    const vault = openVault({ ...server.config, secretKey: newSecretKey() });
    const { kid } = await rotateKeys(server.database, vault, server.clock.now(), { revoke: true }, SERVER);
    const reply = await afterReload(server, () => login(server), isRefused);
    assertError(reply, 500, 'INTERNAL_ERROR');
    assertError(await me(server, before.access_token), 401, 'INVALID_TOKEN');
    const lines = server.logged.filter((line) => line.includes('cannot decrypt the newest signing key'));
    assert.equal(lines.length, 1);
    assert.ok(lines[0]!.includes(kid));
    assert.ok(!server.logged.join('').includes('cannot read revocations'));
    await rotate(server);
    const fixed = await afterReload(server, () => login(server), isOk);
    assert.equal((await me(server, fixed.json.access_token)).status, 200);
  });
});
