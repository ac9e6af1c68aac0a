import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';
import { PASSWORD_LENGTH_MAX } from './plain.ts';

/** A change to the factors needs one of the two again, so that a stolen access token is not enough. */
export const Proof = Type.Object(
  {
    password: Type.Optional(
      Type.String({ maxLength: PASSWORD_LENGTH_MAX, description: 'The current password.' }),
    ),
    otp: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'Instead of the password: a code of the app, or a recovery code.',
      }),
    ),
  },
  { title: 'Proof', examples: [{ password: 'aurora-demo' }] },
);
export type Proof = Static<typeof Proof>;

export const FactorList = Type.Object(
  {
    totp: Type.Boolean({ description: 'Whether an authenticator app is set up.' }),
    passkeys: Type.Array(
      Type.Object(
        {
          id: Type.Integer(),
          name: Type.String(),
          created_at: Timestamp,
          last_used_at: Type.Union([Timestamp, Type.Null()]),
        },
        { title: 'Passkey' },
      ),
    ),
    recovery_codes_left: Type.Integer({ minimum: 0 }),
  },
  {
    title: 'Factors',
    description: 'The user’s second factors.',
    examples: [
      {
        totp: true,
        passkeys: [{ id: 1, name: 'My phone', created_at: '2026-01-15T09:30:00.000Z', last_used_at: null }],
        recovery_codes_left: 10,
      },
    ],
  },
);
export type FactorList = Static<typeof FactorList>;

export const TotpSetup = Type.Object(
  {
    secret: Type.String({ description: 'For typing into the app, in base32.' }),
    uri: Type.String({ description: 'The same secret, for a QR code.' }),
  },
  {
    title: 'TotpSetup',
    description: 'A secret that works after it is confirmed.',
    examples: [
      {
        secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        uri: 'otpauth://totp/Deskbell:owner%40aurora.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Deskbell',
      },
    ],
  },
);
export type TotpSetup = Static<typeof TotpSetup>;

export const TotpConfirmation = Type.Object(
  { otp: Type.String({ minLength: 1, maxLength: 64, description: 'The code that the app shows now.' }) },
  { title: 'TotpConfirmation', examples: [{ otp: '123456' }] },
);

export const RecoveryCodes = Type.Object(
  {
    recovery_codes: Type.Array(Type.String(), {
      description: 'Each works once instead of a code of the app. Shown only in this response.',
    }),
  },
  {
    title: 'RecoveryCodes',
    description:
      'New recovery codes. After a second factor was added: only if it is the first; empty otherwise.',
    examples: [{ recovery_codes: ['4h2k-9mzx-0c7e-vw31-8r5t-n6qd', 'p5tq-1d8r-ky6g-2n0s-w3bc-7fhe'] }],
  },
);
export type RecoveryCodes = Static<typeof RecoveryCodes>;

const Bytes = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\w-]+=*$', description: 'base64url' });
const CREDENTIAL_ID = Bytes(1400);
const Extensions = Type.Optional(Type.Object({}));

/** What WebAuthn's functions in the browser take and return. The library checks it further. */
export const PasskeyOptions = Type.Object(
  { challenge: Type.String() },
  {
    title: 'PasskeyOptions',
    additionalProperties: true,
    description: 'The options for `navigator.credentials`, as WebAuthn’s JSON.',
    examples: [{ challenge: 'MTc2…', rpId: 'desk.example', userVerification: 'required' }],
  },
);

export const NewPasskey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
    response: Type.Object(
      {
        id: CREDENTIAL_ID,
        rawId: CREDENTIAL_ID,
        type: Type.Literal('public-key'),
        clientExtensionResults: Extensions,
        response: Type.Object({
          clientDataJSON: Bytes(8192),
          attestationObject: Bytes(16_384),
          transports: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 10 })),
        }),
      },
      { description: 'What `navigator.credentials.create` returned, as JSON.' },
    ),
  },
  {
    title: 'NewPasskey',
    examples: [
      {
        name: 'My phone',
        response: {
          id: 'AQID',
          rawId: 'AQID',
          type: 'public-key',
          clientExtensionResults: {},
          response: { clientDataJSON: 'e30', attestationObject: 'oA' },
        },
      },
    ],
  },
);

export const PasskeySignIn = Type.Object(
  {
    id: CREDENTIAL_ID,
    rawId: CREDENTIAL_ID,
    type: Type.Literal('public-key'),
    clientExtensionResults: Extensions,
    response: Type.Object({
      clientDataJSON: Bytes(8192),
      authenticatorData: Bytes(8192),
      signature: Bytes(8192),
      userHandle: Type.Optional(Type.String({ maxLength: 128 })),
    }),
  },
  {
    title: 'PasskeySignIn',
    description: 'What `navigator.credentials.get` returned, as JSON.',
    examples: [
      {
        id: 'AQID',
        rawId: 'AQID',
        type: 'public-key',
        clientExtensionResults: {},
        response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' },
      },
    ],
  },
);
