import assert from 'node:assert/strict';
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { type CryptoKey, importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { openVault } from '../../../../src/auth/vault.ts';
import type { Deskbell } from '../../../support/server.ts';

type Claims = Record<string, unknown>;

/** A genuine token with its parts, and the keys of the server and of the attacker. */
export interface Genuine {
  token: string;
  header: JWTHeaderParameters;
  claims: Claims;
  /** The server's own key. Tokens signed with it have a valid signature and wrong content. */
  key: CryptoKey;
  publicJwk: JWK;
  attackerKeys: { key: CryptoKey; publicJwk: JWK; jwksUrl: string };
}
export type Forgery = (genuine: Genuine) => string | Promise<string>;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (token: string) => token.split('.') as [header: string, payload: string, signature: string];
const sign = (header: object, claims: object, key: CryptoKey) =>
  new SignJWT(claims as Claims).setProtectedHeader(header as JWTHeaderParameters).sign(key, {
    crit: { rule: true },
  });

/** Signs changed claims with the server's own key; `undefined` removes a member. */
export const signedWith =
  (claims: Claims, header: object = {}): Forgery =>
  (genuine) =>
    sign({ ...genuine.header, ...header }, { ...genuine.claims, ...claims }, genuine.key);

const hmacSigned = (
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

/** Works on the JSON text, so that a member can occur twice. */
const fromText =
  (header: (text: string) => string, claims: (text: string) => string): Forgery =>
  async (genuine) => {
    const text = [header(JSON.stringify(genuine.header)), claims(JSON.stringify(genuine.claims))]
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.');
    const signature = await crypto.subtle.sign('Ed25519', genuine.key, Buffer.from(text));
    return `${text}.${Buffer.from(signature).toString('base64url')}`;
  };
const withMember = (member: string) => (text: string) => text.replace(/\}$/, `,${member}}`);
const unchanged = (text: string) => text;
/** Built like those below, but valid. */
export const HAND_BUILT = fromText(unchanged, unchanged);

export const FORGERIES: Record<string, Forgery> = {
  'with a signature of zeros': ({ token }) => `${parts(token).slice(0, 2).join('.')}.${'A'.repeat(86)}`,
  'with alg None': ({ token, header, claims }) =>
    `${encode({ ...header, alg: 'None' })}.${encode(claims)}.${parts(token)[2]}`,
  'with alg in an array': fromText((text) => text.replace('"EdDSA"', '["EdDSA"]'), unchanged),
  'with the attacker’s keys at `x5u`': ({ header, claims, attackerKeys }) =>
    sign({ ...header, kid: 'attacker', x5u: attackerKeys.jwksUrl }, claims, attackerKeys.key),
  'with the attacker’s key in `x5c`': ({ header, claims, attackerKeys }) =>
    sign({ ...header, x5c: [attackerKeys.publicJwk.x!] }, claims, attackerKeys.key),
  'with a `kid` that is a path': signedWith({}, { kid: '../../../../dev/null' }),
  'with a `kid` that is a URL': ({ header, claims, attackerKeys }) =>
    sign({ ...header, kid: attackerKeys.jwksUrl }, claims, attackerKeys.key),
  'with a `kid` that contains a null byte': signedWith({}, { kid: 'x\0y' }),
  'with a second `kid` after the first': fromText(withMember('"kid":"attacker"'), unchanged),
  'with a second `alg` after the first': fromText(withMember('"alg":"none"'), unchanged),
  'with a second `typ` after the first': fromText(withMember('"typ":"JWT"'), unchanged),
  'with a second `exp` after the first': fromText(unchanged, withMember('"exp":1')),
  'with a second `aud` after the first': fromText(unchanged, withMember('"aud":"elsewhere"')),
  'with claims that are an array': fromText(unchanged, (text) => `[${text}]`),
  'with claims that are null': fromText(unchanged, () => 'null'),
  'with a header that is an array': fromText((text) => `[${text}]`, unchanged),
  'with claims that are not encoded': fromText(withMember('"b64":false,"crit":["b64"]'), unchanged),
  'that expired long ago': signedWith({ exp: 1_000_000_000 }),
  'that expires before 1970': signedWith({ exp: -1 }),
  'with a null expiry': fromText(unchanged, withMember('"exp":null')),
  'with unused bits set in its header': ({ token }) => withUnusedBitsIn(token, 0),
  'with unused bits set in its claims': ({ token }) => withUnusedBitsIn(token, 1),
  'in the standard base64 alphabet': ({ token }) =>
    token.replaceAll('-', '+').replaceAll('_', '/').concat('='),
  'repeated twice': ({ token }) => `${token}${token}`,
  'in lower case': ({ token }) => token.toLowerCase(),
  reversed: ({ token }) => [...token].reverse().join(''),
  'without a signature': ({ token }) => parts(token).slice(0, 2).join('.'),
  'with alg none and an empty signature': ({ header, claims }) =>
    `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
  'with alg none and the old signature': ({ token, header, claims }) =>
    `${encode({ ...header, alg: 'none' })}.${encode(claims)}.${parts(token)[2]}`,
  'with HS256 and the public key as the secret': hmacSigned('HS256', pem),
  'with HS512 and the public key as the secret': hmacSigned('HS512', pem),
  'with HS512 and the public key’s bytes as the secret': hmacSigned('HS512', rawBytes),
  'with the algorithm under another name': signedWith({}, { alg: 'Ed25519' }),
  'with another user and the old signature': ({ token, claims }) =>
    `${parts(token)[0]}.${encode({ ...claims, sub: '2', merchant_id: 2 })}.${parts(token)[2]}`,
  'with a later expiry and the old signature': ({ token, claims }) =>
    `${parts(token)[0]}.${encode({ ...claims, exp: 4_000_000_000 })}.${parts(token)[2]}`,
  'expired, and signed by the attacker': ({ header, claims, attackerKeys }) =>
    sign(header, { ...claims, exp: 1_000_000_000 }, attackerKeys.key),
  'signed by the attacker': ({ header, claims, attackerKeys }) => sign(header, claims, attackerKeys.key),
  'with the attacker’s key in `jwk`': ({ header, claims, attackerKeys }) =>
    sign({ ...header, jwk: attackerKeys.publicJwk }, claims, attackerKeys.key),
  'with the attacker’s key in `jwk`, with its own `kid`': ({ header, claims, attackerKeys }) =>
    sign({ ...header, kid: 'attacker', jwk: attackerKeys.publicJwk }, claims, attackerKeys.key),
  'with the attacker’s keys at `jku`': ({ header, claims, attackerKeys }) =>
    sign({ ...header, kid: 'attacker', jku: attackerKeys.jwksUrl }, claims, attackerKeys.key),
  'with an unknown `kid`': signedWith({}, { kid: 'unknown' }),
  'with a `kid` that is SQL': signedWith({}, { kid: `' or '1'='1` }),
  'with an array as `kid`': fromText(withMember('"kid":["x"]'), unchanged),
  'with a `kid` of the prototype': signedWith({}, { kid: '__proto__' }),
  'with a number as `kid`': signedWith({}, { kid: 1 }),
  'with no `kid`': signedWith({}, { kid: undefined }),
  'with `typ` JWT': signedWith({}, { typ: 'JWT' }),
  'with no `typ`': signedWith({}, { typ: undefined }),
  'with an unknown critical extension': signedWith({}, { crit: ['rule'], rule: 1 }),
  'for another audience': signedWith({ aud: 'elsewhere' }),
  'for no audience': signedWith({ aud: undefined }),
  'by another issuer': signedWith({ iss: 'elsewhere' }),
  'by no issuer': signedWith({ iss: undefined }),
  'that never expires': signedWith({ exp: undefined }),
  'with a text as expiry': signedWith({ exp: 'tomorrow' as unknown }),
  'without an issue time': signedWith({ iat: undefined }),
  'that is not valid yet': signedWith({ nbf: 4_000_000_000 }),
  'without a user': signedWith({ sub: undefined }),
  'for a user that is not a number': signedWith({ sub: 'owner@aurora.example' }),
  'for a merchant that is not a number': signedWith({ merchant_id: '1' }),
  'for a fractional merchant': signedWith({ merchant_id: 1.5 }),
  'without a `jti`': signedWith({ jti: undefined }),
  'with padding': ({ token }) => `${token}==`,
  'with unused bits set in its last character': ({ token }) => withUnusedBits(token),
  'with a space in it': ({ token }) => `${token.slice(0, 40)} ${token.slice(40)}`,
  'with a tab at its dot': ({ token }) => token.replace('.', '.\t'),
  'with an extra dot': ({ token }) => `${token}.`,
  'with an extra part': ({ token }) => `${token}.${parts(token)[2]}`,
  'with the last character missing': ({ token }) => token.slice(0, -1),
  'of three empty parts': () => '..',
  'of plain letters': () => 'abc.def.ghi',
  'that is the word null': () => 'null',
  'that is not JSON inside': ({ token }) => token.replace(/^[^.]+/, Buffer.from('{{{').toString('base64url')),
  'of ten thousand letters': () => 'a'.repeat(10_000),
  'with seven thousand letters inside': signedWith({ more: 'a'.repeat(7000) }),
};

/** The same 64 bytes in another encoding: four bits of the last character are unused. */
function withUnusedBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1)!) + 1]}`;
  const bytes = (text: string) => Buffer.from(parts(text)[2], 'base64url').toString('hex');
  assert.equal(bytes(other), bytes(token));
  return other;
}

/** The key that the server signs with, from its database. */
export async function serverKey({ database, config }: Deskbell, kid: string) {
  const row = await database.one<{ public_jwk: string; sealed_private_key: string }>(
    'select public_jwk, sealed_private_key from signing_keys where kid = $1',
    [kid],
  );
  const opened = openVault(config).open(row!.sealed_private_key, `signing key ${kid}`);
  const key = (await importJWK(JSON.parse(opened), 'EdDSA')) as CryptoKey;
  return { key, publicJwk: JSON.parse(row!.public_jwk) as JWK };
}

/** Sets an unused bit if the part has one. Otherwise adds a character, which is also wrong. */
function withUnusedBitsIn(token: string, index: 0 | 1): string {
  const all: string[] = parts(token);
  const part = all[index]!;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(part.at(-1)!);
  all[index] = part.length % 4 === 0 ? `${part}A` : `${part.slice(0, -1)}${alphabet[last ^ 1]}`;
  return all.join('.');
}

/** Changes one character at a time, to two different ones. */
export function tampered(token: string): string[] {
  return [...token].flatMap((letter, at) => {
    const others =
      letter === '.'
        ? ['a', '']
        : [letter === 'A' ? 'B' : 'A', letter === '.' ? '' : letter === 'w' ? 'x' : 'w'];
    return others.map((other) => `${token.slice(0, at)}${other}${token.slice(at + 1)}`);
  });
}
