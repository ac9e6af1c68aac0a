import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { before, describe, it } from 'node:test';
import {
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';
import { ALGORITHM, type Keyring } from './keys.ts';
import { createTokens, type Tokens } from './tokens.ts';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const newKeys = () => generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });

describe('a forged token is refused', () => {
  let genuine: { token: string; header: JWTHeaderParameters; claims: Record<string, unknown> };
  let own: Awaited<ReturnType<typeof newKeys>>;
  let attacker: Awaited<ReturnType<typeof newKeys>>;
  let tokens: Tokens;
  const sign = (header: object, claims: object, key: CryptoKey = own.privateKey) =>
    new SignJWT({ ...genuine.claims, ...claims })
      .setProtectedHeader({ ...genuine.header, ...header })
      .sign(key, { crit: { rule: true } });
  const part = (n: number) => genuine.token.split('.')[n]!;
  const isRefused = (token: string) =>
    assert.rejects(tokens.verify('access', token), { code: 'INVALID_TOKEN' }, token);

  before(async () => {
    own = await newKeys();
    attacker = await newKeys();
    const keyring: Pick<Keyring, 'signer' | 'find' | 'generation'> = {
      signer: async () => ({ kid: 'own', key: own.privateKey }),
      find: async (kid) => (kid === 'own' ? own.publicKey : undefined),
      generation: () => 1,
    };
    const settings = { issuer: 'deskbell', accessTtlSeconds: 900, refreshTtlSeconds: 900 };
    tokens = createTokens(keyring as Keyring, { isRevoked: () => false }, settings, () => new Date());
    const token = await tokens.sign('access', { userId: 1, merchantId: 1, role: 'owner' }, 'id');
    const header = decodeProtectedHeader(token) as JWTHeaderParameters;
    genuine = { token, header, claims: decodeJwt(token) };
  });

  it('but not one that is made like the forged ones, and valid', async () => {
    for (const token of [genuine.token, await sign({}, {})])
      assert.equal((await tokens.verify('access', token)).userId, 1);
  });

  it('without a signature of this server, or with another algorithm', async () => {
    const later = encode({ ...genuine.claims, exp: 4_000_000_000 });
    for (const signature of ['', part(2), 'A'.repeat(86)]) {
      await isRefused(`${part(0)}.${later}.${signature}`);
      for (const alg of ['none', 'None', ['EdDSA']])
        await isRefused(`${encode({ ...genuine.header, alg })}.${part(1)}.${signature}`);
    }
    const { x } = await exportJWK(own.publicKey);
    for (const secret of [await exportSPKI(own.publicKey), Buffer.from(x!, 'base64url')]) {
      const text = `${encode({ ...genuine.header, alg: 'HS512' })}.${part(1)}`;
      await isRefused(`${text}.${createHmac('sha512', secret).update(text).digest('base64url')}`);
    }
    await isRefused(await sign({ alg: 'Ed25519' }, {}));
  });

  it('with the key of somebody else, whatever its header says about keys', async () => {
    const jwk = await exportJWK(attacker.publicKey);
    for (const header of [
      {},
      { jwk },
      { kid: 'attacker', jwk },
      { jku: 'http://127.0.0.1:1/' },
      { x5c: [jwk.x] },
    ])
      await isRefused(await sign(header, {}, attacker.privateKey));
    for (const kid of ['other', '__proto__', '../../dev/null', `' or '1'='1`, 1, ['own'], undefined])
      await isRefused(await sign({ kid }, {}));
  });

  it('of another kind, for somebody else, or without a claim that it needs', async () => {
    const headers = [{ typ: 'rt+jwt' }, { typ: 'JWT' }, { typ: undefined }, { crit: ['rule'], rule: 1 }];
    for (const header of headers) await isRefused(await sign(header, {}));
    for (const claims of [
      ...[{ aud: 'deskbell:refresh' }, { aud: undefined }, { iss: 'elsewhere' }, { iss: undefined }],
      ...[{ exp: undefined }, { exp: 'tomorrow' }, { iat: undefined }, { nbf: 4_000_000_000 }],
      ...[
        { sub: undefined },
        { sub: 'owner' },
        { jti: undefined },
        { merchant_id: '1' },
        { merchant_id: 1.5 },
      ],
    ])
      await isRefused(await sign({}, claims));
  });

  it('in another spelling of the same bytes, or with any letter changed', async () => {
    const { token } = genuine;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sameBytes = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1)!) + 1]}`;
    for (const other of [
      ...[sameBytes, `${token}==`, `${token}.`, `${token}\n`, ` ${token}`, token.replace('.', '.\t')],
      ...[`${token}.${part(2)}`, token.slice(0, -1), '..', 'null', 'a'.repeat(10_000), token.toLowerCase()],
    ])
      await isRefused(other);
    for (let at = 0; at < token.length; at += 1)
      await isRefused(`${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`);
  });
});
