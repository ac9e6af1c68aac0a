import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, type JWTHeaderParameters } from 'jose';
import {
  type Deskbell,
  login,
  logout,
  me,
  NOTIFICATIONS,
  type Reply,
  refresh,
  startDeskbell,
} from '../../support/server.ts';
import { type Fault, none } from './fault.ts';
import { FORGERIES, type Genuine, HAND_BUILT, serverKey, signedWith, tampered } from './tokens/forgeries.ts';
import { measureRevocations } from './tokens/revoked.ts';

type Kind = 'access' | 'refresh';

export const tokens: Fault = {
  name: 'tokens',
  title: 'forged, changed, misused and revoked tokens',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const deskbell = await startDeskbell(engine);
    const attacker = await startAttacker();
    let tried = 0;
    const wrong: string[] = [];
    const bodies = new Set<string>();
    const expectRefusal = (
      title: string,
      { status, json, text, headers }: Pick<Reply, 'status' | 'json' | 'text' | 'headers'>,
    ) => {
      tried += 1;
      if (status === 401 && json?.code === 'INVALID_TOKEN') bodies.add(text);
      const good = status === 401 && ['INVALID_TOKEN', 'TOKEN_EXPIRED'].includes(json?.code);
      if (!good || headers.get('www-authenticate') !== 'Bearer') wrong.push(`${title}: ${status} ${text}`);
    };
    /** Sends an access token to two endpoints, or a refresh token to /refresh and /logout. */
    async function sendToken(kind: Kind, title: string, token: string): Promise<void> {
      if (kind === 'refresh') {
        expectRefusal(`refresh token ${title}`, await refresh(deskbell, token));
        expectRefusal(`refresh token ${title}, at logout`, await logout(deskbell, token));
      } else {
        expectRefusal(`token ${title}`, await me(deskbell, token));
        expectRefusal(
          `token ${title}, for a list`,
          await deskbell.call('GET', `${NOTIFICATIONS}/`, { token }),
        );
      }
    }
    try {
      const genuine = await issueTokens(deskbell, attacker);
      const accepted = await countAccepted(deskbell, genuine);
      for (const [title, forge] of Object.entries(FORGERIES)) {
        for (const kind of ['access', 'refresh'] as const)
          await sendToken(kind, title, await forge(genuine[kind]));
      }
      await sendToken('access', 'that is a refresh token', genuine.refresh.token);
      await sendToken('refresh', 'that is an access token', genuine.access.token);
      // Both `typ` and the audience decide the kind of a token.
      for (const [kind, other] of [
        ['access', 'refresh'],
        ['refresh', 'access'],
      ] as const) {
        await sendToken(
          kind,
          'with the other `typ`',
          await signedWith({}, { typ: genuine[other].header.typ })(genuine[kind]),
        );
        await sendToken(
          kind,
          'with the other audience',
          await signedWith({ aud: genuine[other].claims.aud })(genuine[kind]),
        );
      }
      const unknownSession = { jti: '00000000-0000-4000-8000-000000000000' };
      await sendToken('refresh', 'of an unknown session', await signedWith(unknownSession)(genuine.refresh));
      await sendToken('refresh', 'of another user', await signedWith({ sub: '2' })(genuine.refresh));
      for (const text of [`${genuine.refresh.token}\n`, ` ${genuine.refresh.token}`]) {
        await sendToken('refresh', 'with white space around it', text);
      }
      for (const kind of ['access', 'refresh'] as const) {
        const all = tampered(genuine[kind].token);
        const selected = size === 'full' ? all : all.filter((_, n) => n % 29 === 0);
        for (const [at, token] of selected.entries()) await sendToken(kind, `with change ${at}`, token);
      }
      // Last, because it removes the signing keys.
      const revoked = await measureRevocations(deskbell, size === 'full' ? 10 : 1);
      // In npm test, other tests run at the same time.
      const waitMax = size === 'full' ? 1000 : 5000;
      for (const line of wrong) console.log(line.slice(0, 300));
      return [
        { what: 'valid tokens accepted, built the same way', value: accepted, atLeast: 4 },
        { what: 'forged, changed or misused tokens', value: tried, atLeast: size === 'full' ? 3000 : 400 },
        {
          what: '… answered with 401',
          value: (100 * (tried - wrong.length)) / tried,
          unit: '%',
          atLeast: 100,
        },
        // One for an invalid token, one for a missing token.
        { what: 'different error bodies', value: bodies.size, atMost: 2 },
        none('requests to addresses from a token', attacker.requests()),
        { what: 'revoked token still accepted after', value: revoked.tokenMs, unit: 'ms', atMost: waitMax },
        {
          what: 'stream of a revoked token open after',
          value: revoked.streamMs,
          unit: 'ms',
          atMost: waitMax,
        },
      ];
    } finally {
      await attacker.close();
      await deskbell.close();
    }
  },
};

/** Counts accepted tokens that are valid but built like the others: so the others fail only because of their defects. */
async function countAccepted(deskbell: Deskbell, genuine: Record<Kind, Genuine>): Promise<number> {
  const later = await signedWith({ exp: Number(genuine.access.claims.exp) + 1 })(genuine.access);
  const replies = [
    await me(deskbell, await signedWith({})(genuine.access)),
    await me(deskbell, later),
    await me(deskbell, await HAND_BUILT(genuine.access)),
    await refresh(deskbell, await signedWith({})(genuine.refresh)),
  ];
  return replies.filter(({ status }) => status === 200).length;
}

interface Attacker {
  attackerKeys: Genuine['attackerKeys'];
  requests(): number;
  close(): Promise<void>;
}

/** Has its own key and publishes it on its own server. */
async function startAttacker(): Promise<Attacker> {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const publicJwk = await exportJWK(publicKey);
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    const keys = [{ ...publicJwk, kid: 'attacker', alg: 'EdDSA', use: 'sig' }];
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    attackerKeys: { key: privateKey, publicJwk, jwksUrl: `http://127.0.0.1:${port}/` },
    requests: () => requests,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function issueTokens(deskbell: Deskbell, { attackerKeys }: Attacker): Promise<Record<Kind, Genuine>> {
  const { access_token, refresh_token } = (await login(deskbell)).json;
  const open = async (token: string): Promise<Genuine> => {
    const header = decodeProtectedHeader(token) as JWTHeaderParameters;
    return {
      token,
      header,
      claims: decodeJwt(token),
      attackerKeys,
      ...(await serverKey(deskbell, header.kid!)),
    };
  };
  return { access: await open(access_token), refresh: await open(refresh_token) };
}
