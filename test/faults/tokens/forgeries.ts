import assert from 'node:assert/strict';
import { createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { type CryptoKey, importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { openVault } from '../../../src/auth/vault.ts';
import type { Deskbell } from '../../harness.ts';

type Claims = Record<string, unknown>;

/** A genuine token, taken apart, and the keys of the server and of its forger. */
export interface Workshop {
  token: string;
  header: JWTHeaderParameters;
  claims: Claims;
  /** The server's own: what it signs is wrong only in what it says. */
  key: CryptoKey;
  publicJwk: JWK;
  forger: { key: CryptoKey; publicJwk: JWK; jwksUrl: string };
}
export type Forgery = (workshop: Workshop) => string | Promise<string>;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (token: string) => token.split('.') as [header: string, payload: string, signature: string];
const sign = (header: object, claims: object, key: CryptoKey) =>
  new SignJWT(claims as Claims).setProtectedHeader(header as JWTHeaderParameters).sign(key, {
    crit: { rule: true },
  });

/** With the server's own key; `undefined` takes a member away. */
export const says =
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

/** As JSON text: a member may stand there twice. */
const spelled =
  (header: (text: string) => string, claims: (text: string) => string): Forgery =>
  async (shop) => {
    const text = [header(JSON.stringify(shop.header)), claims(JSON.stringify(shop.claims))]
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.');
    const signature = await crypto.subtle.sign('Ed25519', shop.key, Buffer.from(text));
    return `${text}.${Buffer.from(signature).toString('base64url')}`;
  };
const also = (member: string) => (text: string) => text.replace(/\}$/, `,${member}}`);
const asItIs = (text: string) => text;
/** Put together like those below, and right. */
export const SPELLED_RIGHT = spelled(asItIs, asItIs);

export const FORGERIES: Record<string, Forgery> = {
  'with a signature of nothing': ({ token }) => `${parts(token).slice(0, 2).join('.')}.${'A'.repeat(86)}`,
  'with alg None': ({ token, header, claims }) =>
    `${encode({ ...header, alg: 'None' })}.${encode(claims)}.${parts(token)[2]}`,
  'with alg in a list': spelled((text) => text.replace('"EdDSA"', '["EdDSA"]'), asItIs),
  'with the stranger’s keys behind `x5u`': ({ header, claims, forger }) =>
    sign({ ...header, kid: 'stranger', x5u: forger.jwksUrl }, claims, forger.key),
  'with the stranger’s key in `x5c`': ({ header, claims, forger }) =>
    sign({ ...header, x5c: [forger.publicJwk.x!] }, claims, forger.key),
  'with a `kid` that is a path': says({}, { kid: '../../../../dev/null' }),
  'with a `kid` that is an address': ({ header, claims, forger }) =>
    sign({ ...header, kid: forger.jwksUrl }, claims, forger.key),
  'with a `kid` that ends early': says({}, { kid: 'x\0y' }),
  'with a second `kid` behind the first': spelled(also('"kid":"stranger"'), asItIs),
  'with a second `alg` behind the first': spelled(also('"alg":"none"'), asItIs),
  'with a second `typ` behind the first': spelled(also('"typ":"JWT"'), asItIs),
  'with a second `exp` behind the first': spelled(asItIs, also('"exp":1')),
  'with a second `aud` behind the first': spelled(asItIs, also('"aud":"elsewhere"')),
  'with claims that are a list': spelled(asItIs, (text) => `[${text}]`),
  'with claims that are nothing': spelled(asItIs, () => 'null'),
  'with a header that is a list': spelled((text) => `[${text}]`, asItIs),
  'with claims that are not encoded': spelled(also('"b64":false,"crit":["b64"]'), asItIs),
  'that expired long ago': says({ exp: 1_000_000_000 }),
  'that expires before time began': says({ exp: -1 }),
  'that expires never': spelled(asItIs, also('"exp":null')),
  'with stray bits in its header': ({ token }) => withStrayBitsIn(token, 0),
  'with stray bits in its claims': ({ token }) => withStrayBitsIn(token, 1),
  'with the other alphabet': ({ token }) => token.replaceAll('-', '+').replaceAll('_', '/').concat('='),
  'twice over': ({ token }) => `${token}${token}`,
  'in small letters': ({ token }) => token.toLowerCase(),
  backwards: ({ token }) => [...token].reverse().join(''),
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
  'with a list for a `kid`': spelled(also('"kid":["x"]'), asItIs),
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

/** The same 64 bytes, spelled otherwise: four bits of the last letter carry nothing. */
function withStrayBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1)!) + 1]}`;
  const bytes = (text: string) => Buffer.from(parts(text)[2], 'base64url').toString('hex');
  assert.equal(bytes(other), bytes(token));
  return other;
}

/** The key that the server signs with, from its database. */
export async function ownKey({ database, config }: Deskbell, kid: string) {
  const row = await database.one<{ public_jwk: string; sealed_private_key: string }>(
    'select public_jwk, sealed_private_key from signing_keys where kid = $1',
    [kid],
  );
  const opened = openVault(config).open(row!.sealed_private_key, `signing key ${kid}`);
  const key = (await importJWK(JSON.parse(opened), 'EdDSA')) as CryptoKey;
  return { key, publicJwk: JSON.parse(row!.public_jwk) as JWK };
}

/** Where the part's length leaves bits over; else the part as it is, with a letter more, which is as wrong. */
function withStrayBitsIn(token: string, index: 0 | 1): string {
  const all: string[] = parts(token);
  const part = all[index]!;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(part.at(-1)!);
  all[index] = part.length % 4 === 0 ? `${part}A` : `${part.slice(0, -1)}${alphabet[last ^ 1]}`;
  return all.join('.');
}

/** A letter changed at every place, to its neighbour and to a far one. */
export function tampered(token: string): string[] {
  return [...token].flatMap((letter, at) => {
    const others =
      letter === '.'
        ? ['a', '']
        : [letter === 'A' ? 'B' : 'A', letter === '.' ? '' : letter === 'w' ? 'x' : 'w'];
    return others.map((other) => `${token.slice(0, at)}${other}${token.slice(at + 1)}`);
  });
}
