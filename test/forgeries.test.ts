import assert from 'node:assert/strict';
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import {
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';
import { openVault } from '../src/server.ts';
import { assertError, type Deskbell, login, me, onEachEngine, refresh, useDeskbell } from './harness.ts';

type Claims = Record<string, unknown>;

/** A genuine token, taken apart, and the keys of the server and of its forger. */
interface Workshop {
  token: string;
  header: JWTHeaderParameters;
  claims: Claims;
  /** The server's own: what it signs is wrong only in what it says. */
  key: CryptoKey;
  publicJwk: JWK;
  forger: { key: CryptoKey; publicJwk: JWK; jwksUrl: string };
}
type Forgery = (workshop: Workshop) => string | Promise<string>;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (token: string) => token.split('.') as [header: string, payload: string, signature: string];
const sign = (header: object, claims: object, key: CryptoKey) =>
  new SignJWT(claims as Claims).setProtectedHeader(header as JWTHeaderParameters).sign(key, {
    crit: { rule: true },
  });

/** With the server's own key; `undefined` takes a member away. */
const says =
  (claims: Claims, header: object = {}): Forgery =>
  (shop) =>
    sign({ ...shop.header, ...header }, { ...shop.claims, ...claims }, shop.key);

const keyedHash = (
  algorithm: string,
  secret: (publicKey: KeyObject, jwk: JWK) => string | Buffer,
): Forgery => {
  const digest = algorithm.replace('HS', 'sha');
  return ({ header, claims, publicJwk }) => {
    const publicKey = createPublicKey({ key: publicJwk as Record<string, string>, format: 'jwk' });
    const text = `${encode({ ...header, alg: algorithm })}.${encode(claims)}`;
    const signature = createHmac(digest, secret(publicKey, publicJwk)).update(text).digest('base64url');
    return `${text}.${signature}`;
  };
};
const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' });
const rawBytes = (_key: KeyObject, { x }: JWK) => Buffer.from(x!, 'base64url');

const FORGERIES: Record<string, Forgery> = {
  'without a signature': ({ token }) => parts(token).slice(0, 2).join('.'),
  'with alg none and an empty signature': ({ header, claims }) =>
    `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
  'with alg none and the old signature': ({ token, header, claims }) =>
    `${encode({ ...header, alg: 'none' })}.${encode(claims)}.${parts(token)[2]}`,
  'with HS256 and the public key for a secret': keyedHash('HS256', pem),
  'with HS512 and the public key for a secret': keyedHash('HS512', pem),
  'with HS512 and the public key’s bytes for a secret': keyedHash('HS512', rawBytes),
  'with the algorithm under another name': says({}, { alg: 'Ed25519' }),
  'with another user and the old signature': ({ token, claims }) =>
    `${parts(token)[0]}.${encode({ ...claims, sub: '2', merchant_id: 2 })}.${parts(token)[2]}`,
  'with a later expiry and the old signature': ({ token, claims }) =>
    `${parts(token)[0]}.${encode({ ...claims, exp: 4_000_000_000 })}.${parts(token)[2]}`,
  'expired, and signed by a stranger': ({ header, claims, forger }) =>
    sign(header, { ...claims, exp: 1_000_000_000 }, forger.key),
  'signed by a stranger': ({ header, claims, forger }) => sign(header, claims, forger.key),
  'with the stranger’s key in `jwk`': ({ header, claims, forger }) =>
    sign({ ...header, jwk: forger.publicJwk }, claims, forger.key),
  'with the stranger’s key in `jwk`, under its own name': ({ header, claims, forger }) =>
    sign({ ...header, kid: 'stranger', jwk: forger.publicJwk }, claims, forger.key),
  'with the stranger’s keys behind `jku`': ({ header, claims, forger }) =>
    sign({ ...header, kid: 'stranger', jku: forger.jwksUrl }, claims, forger.key),
  'with an unknown `kid`': says({}, { kid: 'unknown' }),
  'with a `kid` that is SQL': says({}, { kid: `' or '1'='1` }),
  'with a `kid` of the prototype': says({}, { kid: '__proto__' }),
  'with a number for a `kid`': says({}, { kid: 1 }),
  'with no `kid`': says({}, { kid: undefined }),
  'with `typ` JWT': says({}, { typ: 'JWT' }),
  'with no `typ`': says({}, { typ: undefined }),
  'with an extension nobody knows': says({}, { crit: ['rule'], rule: 1 }),
  'for another audience': says({ aud: 'elsewhere' }),
  'for no audience': says({ aud: undefined }),
  'by another issuer': says({ iss: 'elsewhere' }),
  'by no issuer': says({ iss: undefined }),
  'that never expires': says({ exp: undefined }),
  'that expires in words': says({ exp: 'tomorrow' as unknown }),
  'of no time': says({ iat: undefined }),
  'that is not valid yet': says({ nbf: 4_000_000_000 }),
  'for nobody': says({ sub: undefined }),
  'for a user that is no number': says({ sub: 'owner@aurora.example' }),
  'for a merchant that is no number': says({ merchant_id: '1' }),
  'for half a merchant': says({ merchant_id: 1.5 }),
  'without a name of its own': says({ jti: undefined }),
  'with padding': ({ token }) => `${token}==`,
  'with stray bits in its last letter': ({ token }) => withStrayBits(token),
  'with a space in it': ({ token }) => `${token.slice(0, 40)} ${token.slice(40)}`,
  'with a tab at its dot': ({ token }) => token.replace('.', '.\t'),
  'with a dot too many': ({ token }) => `${token}.`,
  'with a part too many': ({ token }) => `${token}.${parts(token)[2]}`,
  'cut short by a letter': ({ token }) => token.slice(0, -1),
  'of three empty parts': () => '..',
  'of plain letters': () => 'abc.def.ghi',
  'that is the word null': () => 'null',
  'that is not JSON inside': ({ token }) => token.replace(/^[^.]+/, Buffer.from('{{{').toString('base64url')),
  'of ten thousand letters': () => 'a'.repeat(10_000),
  'with seven thousand letters inside': says({ more: 'a'.repeat(7000) }),
};

onEachEngine('forged tokens', (engine) => {
  const deskbell = useDeskbell(engine);
  const shops = {} as Record<'access' | 'refresh', Workshop>;
  let jwksAsked = 0;
  const pair = generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const stranger = createServer(async (_request, response) => {
    jwksAsked += 1;
    const jwk = { ...(await exportJWK((await pair).publicKey)), kid: 'stranger', alg: 'EdDSA', use: 'sig' };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
  });

  before(async () => {
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const { port } = stranger.address() as AddressInfo;
    const { access_token, refresh_token } = (await login(deskbell)).json;
    const { privateKey, publicKey } = await pair;
    const forger = {
      key: privateKey,
      publicJwk: await exportJWK(publicKey),
      jwksUrl: `http://127.0.0.1:${port}/`,
    };
    for (const [kind, token] of Object.entries({ access: access_token, refresh: refresh_token })) {
      const header = decodeProtectedHeader(token) as JWTHeaderParameters;
      const keys = await ownKey(deskbell, header.kid!);
      shops[kind as 'access'] = { token, header, claims: decodeJwt(token), forger, ...keys };
    }
  });
  after(() => new Promise((resolve) => stranger.close(resolve)));

  it('a token made the genuine way is taken, so the ones below fail for what they are', async () => {
    const access = await says({})(shops.access);
    assert.equal(access, shops.access.token);
    assert.equal((await me(deskbell, access)).status, 200);
    assert.equal((await refresh(deskbell, await says({})(shops.refresh))).status, 200);
    const later = await says({ exp: Number(shops.access.claims.exp) + 1 })(shops.access);
    assert.equal((await me(deskbell, later)).status, 200);
  });

  for (const [title, forge] of Object.entries(FORGERIES)) {
    it(`a token ${title} is INVALID_TOKEN`, async () => {
      const access = await forge(shops.access);
      assertError(await me(deskbell, access), 401, 'INVALID_TOKEN');
      const list = await deskbell.call('GET', '/api/v1/notification/', { token: access });
      assertError(list, 401, 'INVALID_TOKEN');
      assertError(await refresh(deskbell, await forge(shops.refresh)), 401, 'INVALID_TOKEN');
    });
  }

  it('a token with a line break behind it is INVALID_TOKEN at refresh', async () => {
    assertError(await refresh(deskbell, `${shops.refresh.token}\n`), 401, 'INVALID_TOKEN');
    assertError(await refresh(deskbell, ` ${shops.refresh.token}`), 401, 'INVALID_TOKEN');
  });

  it('a kind is decided by both its `typ` and its audience', async () => {
    const { access, refresh: other } = shops;
    const halves = [says({}, { typ: other.header.typ }), says({ aud: other.claims.aud })];
    for (const half of halves) assertError(await me(deskbell, await half(access)), 401, 'INVALID_TOKEN');
  });

  it('a genuine refresh token of another user opens nobody’s session', async () => {
    const forged = await says({ sub: '2' })(shops.refresh);
    assertError(await refresh(deskbell, forged), 401, 'INVALID_TOKEN');
  });

  it('a refresh token without a session is INVALID_TOKEN', async () => {
    const forged = await says({ jti: '00000000-0000-4000-8000-000000000000' })(shops.refresh);
    assertError(await refresh(deskbell, forged), 401, 'INVALID_TOKEN');
  });

  it('an address in a token is never asked', () => assert.equal(jwksAsked, 0));

  it('what was wrong with a token is told to nobody', async () => {
    const replies = await Promise.all(
      ['by another issuer', 'with an unknown `kid`', 'signed by a stranger'].map(async (title) =>
        me(deskbell, await FORGERIES[title]!(shops.access)),
      ),
    );
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
  });
});

/** The same 64 bytes, spelled otherwise: four bits of the last letter carry nothing. */
function withStrayBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1)!) + 1]}`;
  const bytes = (text: string) => Buffer.from(parts(text)[2], 'base64url').toString('hex');
  assert.equal(bytes(other), bytes(token));
  return other;
}

/** The key that the server signs with, from its database. */
async function ownKey({ database, config }: Deskbell, kid: string) {
  const row = await database.one<{ public_jwk: string; sealed_private_key: string }>(
    'select public_jwk, sealed_private_key from signing_keys where kid = $1',
    [kid],
  );
  const opened = openVault(config).open(row!.sealed_private_key, `signing key ${kid}`);
  const key = (await importJWK(JSON.parse(opened), 'EdDSA')) as CryptoKey;
  return { key, publicJwk: JSON.parse(row!.public_jwk) as JWK };
}
