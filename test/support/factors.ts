import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { generateSync } from 'otplib/functional';
import { addUser, call, type Deskbell, login, type Reply } from './server.ts';

/** Users with a second factor, and devices that hold passkeys. */
export const AUTH = '/api/v1/auth';
export const DASHBOARD = { 'x-deskbell-dashboard': '1' };

export interface User {
  id: number;
  email: string;
  password: string;
}

/** A code that the authenticator app shows, now or some steps of 30 seconds later. */
export const codeOf = ({ clock }: Deskbell, secret: string, steps = 0) =>
  generateSync({ secret, epoch: Math.floor(clock.now().getTime() / 1000) + steps * 30 });

export const factorsOf = async (deskbell: Deskbell, token: string) =>
  (await deskbell.call('GET', `${AUTH}/factors`, { token })).json;

export const loginWith = (deskbell: Deskbell, { email, password }: User, otp: unknown) =>
  deskbell.call('POST', `${AUTH}/login`, { body: { email, password, otp } });

/** A new user with an authenticator app. The code of the current step is used up. */
export async function addUserWithTotp(deskbell: Deskbell) {
  const user = await addUser(deskbell);
  const { json: tokens } = await login(deskbell, user);
  const { secret, recoveryCodes } = await turnOnTotp(deskbell, user, tokens.access_token);
  return { ...user, secret, recoveryCodes, tokens };
}

export async function turnOnTotp(deskbell: Deskbell, { password }: User, token: string) {
  const start = await deskbell.call('POST', `${AUTH}/totp`, { token, body: { password } });
  assert.equal(start.status, 200, start.text);
  const { secret, uri } = start.json;
  const otp = codeOf(deskbell, secret);
  const confirmed = await deskbell.call('POST', `${AUTH}/totp/confirm`, { token, body: { otp } });
  assert.equal(confirmed.status, 200, confirmed.text);
  return { secret: secret as string, uri, recoveryCodes: confirmed.json.recovery_codes as string[] };
}

/** The same server by its name: a passkey belongs to a host name, not to an IP address. */
export function atLocalhost(deskbell: Deskbell): Deskbell {
  const url = deskbell.url.replace('127.0.0.1', 'localhost');
  return { ...deskbell, url, call: (method, path, options) => call(url, method, path, options) };
}

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest();
const base64url = (data: Uint8Array | string) => Buffer.from(data).toString('base64url');

/** As much CBOR as an authenticator writes. */
function cbor(value: unknown): Buffer {
  const head = (major: number, size: number) =>
    size < 24
      ? Buffer.from([(major << 5) | size])
      : size < 256
        ? Buffer.from([(major << 5) | 24, size])
        : Buffer.from([(major << 5) | 25, size >> 8, size & 255]);
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map)
    return Buffer.concat([head(5, value.size), ...[...value].flat().map((part) => cbor(part))]);
  const bytes = value as Uint8Array;
  return Buffer.concat([head(2, bytes.length), bytes]);
}

/** An authenticator with one passkey, as a phone or a security key has it. It asks for a PIN unless told. */
export class Authenticator {
  readonly id = base64url(randomBytes(32));
  origin: string;
  rpId: string;
  counter = 0;
  verifiesUser = true;
  readonly #keys: { privateKey: KeyObject; publicKey: KeyObject };

  constructor(origin: string) {
    this.origin = origin;
    this.rpId = new URL(origin).hostname;
    this.#keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  }

  #clientData(type: string, challenge: string): string {
    return JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false });
  }

  #authData(attested: Uint8Array = Buffer.alloc(0)): Buffer {
    this.counter += 1;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const flags = 0x01 | (this.verifiesUser ? 0x04 : 0) | (attested.length > 0 ? 0x40 : 0);
    return Buffer.concat([sha256(this.rpId), Buffer.from([flags]), counter, attested]);
  }

  create({ challenge }: { challenge: string }) {
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' });
    const key = new Map<unknown, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, 'base64url')],
      [-3, Buffer.from(y!, 'base64url')],
    ]);
    const id = Buffer.from(this.id, 'base64url');
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cbor(key)]);
    const attestation = new Map<unknown, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', this.#authData(attested)],
    ]);
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(this.#clientData('webauthn.create', challenge)),
        attestationObject: base64url(cbor(attestation)),
        transports: ['internal'],
      },
    };
  }

  get({ challenge }: { challenge: string }) {
    const clientData = this.#clientData('webauthn.get', challenge);
    const authenticatorData = this.#authData();
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(sign('sha256', signed, this.#keys.privateKey)),
      },
    };
  }
}

/** Adds a passkey to a signed-in user. */
export async function addPasskey(
  deskbell: Deskbell,
  authenticator: Authenticator,
  { token, password }: { token: string; password: string },
): Promise<Reply> {
  const options = await deskbell.call('POST', `${AUTH}/passkeys/options`, { token, body: { password } });
  assert.equal(options.status, 200, options.text);
  const body = { name: 'My phone', response: authenticator.create(options.json) };
  return deskbell.call('POST', `${AUTH}/passkeys`, { token, body });
}

export const passkeyOptions = (deskbell: Deskbell) =>
  deskbell.call('POST', '/session/passkey/options', { headers: DASHBOARD });

export const sendPasskey = (deskbell: Deskbell, body: unknown) =>
  deskbell.call('POST', '/session/passkey', { headers: DASHBOARD, body });

export const signInWithPasskey = async (deskbell: Deskbell, authenticator: Authenticator) =>
  sendPasskey(deskbell, authenticator.get((await passkeyOptions(deskbell)).json));
