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
} from '../harness.ts';
import { openWire } from '../process.ts';
import { type Fault, none } from './fault.ts';
import { FORGERIES, ownKey, SPELLED_RIGHT, says, tampered, type Workshop } from './tokens/forgeries.ts';

type Kind = 'access' | 'refresh';

export const tokens: Fault = {
  name: 'tokens',
  title: 'tokens that are forged, bent, borrowed or sent oddly',
  engines: ['sqlite', 'postgres'],
  async run(engine, size) {
    const deskbell = await startDeskbell(engine);
    const stranger = await startStranger();
    let tried = 0;
    const wrong: string[] = [];
    const bodies = new Set<string>();
    const refused = (
      title: string,
      { status, json, text, headers }: Pick<Reply, 'status' | 'json' | 'text' | 'headers'>,
    ) => {
      tried += 1;
      if (status === 401 && json?.code === 'INVALID_TOKEN') bodies.add(text);
      const good = status === 401 && ['INVALID_TOKEN', 'TOKEN_EXPIRED'].includes(json?.code);
      if (!good || headers.get('www-authenticate') !== 'Bearer') wrong.push(`${title}: ${status} ${text}`);
    };
    /** An access token where tokens are asked for; a refresh token where it is exchanged and where it ends. */
    async function present(kind: Kind, title: string, token: string): Promise<void> {
      if (kind === 'refresh') {
        refused(`refresh token ${title}`, await refresh(deskbell, token));
        refused(`refresh token ${title}, signing out`, await logout(deskbell, token));
      } else {
        refused(`token ${title}`, await me(deskbell, token));
        refused(`token ${title}, for a list`, await deskbell.call('GET', `${NOTIFICATIONS}/`, { token }));
      }
    }
    try {
      const shops = await openWorkshops(deskbell, stranger);
      const genuine = await genuineAreTaken(deskbell, shops);
      for (const [title, forge] of Object.entries(FORGERIES)) {
        for (const kind of ['access', 'refresh'] as const)
          await present(kind, title, await forge(shops[kind]));
      }
      await present('access', 'that is one to refresh with', shops.refresh.token);
      await present('refresh', 'that is one to ask with', shops.access.token);
      // A kind is decided by both its `typ` and its audience.
      for (const [kind, other] of [
        ['access', 'refresh'],
        ['refresh', 'access'],
      ] as const) {
        await present(
          kind,
          'of the other `typ`',
          await says({}, { typ: shops[other].header.typ })(shops[kind]),
        );
        await present(
          kind,
          'of the other audience',
          await says({ aud: shops[other].claims.aud })(shops[kind]),
        );
      }
      const nobodys = { jti: '00000000-0000-4000-8000-000000000000' };
      await present('refresh', 'of no session', await says(nobodys)(shops.refresh));
      await present('refresh', 'of another user', await says({ sub: '2' })(shops.refresh));
      for (const text of [`${shops.refresh.token}\n`, ` ${shops.refresh.token}`]) {
        await present('refresh', 'with white space around it', text);
      }
      for (const kind of ['access', 'refresh'] as const) {
        const all = tampered(shops[kind].token);
        const some = size === 'full' ? all : all.filter((_, n) => n % 7 === 0);
        for (const [at, token] of some.entries()) await present(kind, `with its change ${at}`, token);
      }
      for (const [title, headers] of oddHeaders(shops)) {
        refused(`token ${title}`, await askWith(deskbell, headers));
      }
      for (const line of wrong) console.log(line.slice(0, 300));
      return [
        { what: 'genuine tokens taken, made the same way', value: genuine, atLeast: 5 },
        { what: 'forged, bent or borrowed tokens', value: tried, atLeast: size === 'full' ? 3000 : 600 },
        {
          what: '… answered with 401',
          value: (100 * (tried - wrong.length)) / tried,
          unit: '%',
          atLeast: 100,
        },
        // One for a token that is no good, one for none where it belongs.
        { what: 'different words for what was wrong', value: bodies.size, atMost: 2 },
        none('addresses in a token that were asked', stranger.asked()),
      ];
    } finally {
      await stranger.close();
      await deskbell.close();
    }
  },
};

/** So that the others fail for what they are. */
async function genuineAreTaken(deskbell: Deskbell, shops: Record<Kind, Workshop>): Promise<number> {
  const later = await says({ exp: Number(shops.access.claims.exp) + 1 })(shops.access);
  const replies = [
    await me(deskbell, await says({})(shops.access)),
    await me(deskbell, later),
    await me(deskbell, await SPELLED_RIGHT(shops.access)),
    await refresh(deskbell, await says({})(shops.refresh)),
    await askWith(deskbell, [`Authorization: bearer  ${shops.access.token} `]),
  ];
  return replies.filter(({ status }) => status === 200).length;
}

function oddHeaders({ access, refresh: other }: Record<Kind, Workshop>): [title: string, lines: string[]][] {
  const { token } = access;
  const forged = `${token.slice(0, -4)}AAAA`;
  const authorization = (value: string) => [`Authorization: ${value}`];
  return [
    ['behind a tab', authorization(`Bearer\t${token}`)],
    ['without its scheme', authorization(token)],
    ['of another scheme', authorization(`Basic ${token}`)],
    ['of no scheme', authorization(`: ${token}`)],
    ['with its scheme twice', authorization(`Bearer Bearer ${token}`)],
    ['in quotes', authorization(`Bearer "${token}"`)],
    ['with a parameter', authorization(`Bearer token=${token}`)],
    ['with a comma behind it', authorization(`Bearer ${token},`)],
    ['with another behind it', authorization(`Bearer ${token} ${token}`)],
    ['with a stranger before it', authorization(`Bearer ${forged}, Bearer ${token}`)],
    ['behind a forged one', [...authorization(`Bearer ${forged}`), ...authorization(`Bearer ${token}`)]],
    [
      'behind one to refresh with',
      [...authorization(`Bearer ${other.token}`), ...authorization(`Bearer ${token}`)],
    ],
    ['in a cookie', [`Cookie: access_token=${token}; Authorization=Bearer ${token}`]],
    ['for a proxy', [`Proxy-Authorization: Bearer ${token}`]],
    ['in a header of its own', [`X-Authorization: Bearer ${token}`, `X-Access-Token: ${token}`]],
    ['with a non-breaking space', authorization(`Bearer\xa0${token}`)],
  ];
}

/** As it stands here: fetch would mend it. */
async function askWith({ url }: Deskbell, lines: readonly string[]) {
  const head = ['GET /api/v1/auth/me HTTP/1.1', 'Host: x', 'Connection: close', ...lines];
  const wire = await openWire(Number(new URL(url).port));
  wire.socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'));
  const [answer = '', text = ''] = (await wire.closed).split('\r\n\r\n');
  wire.socket.destroy();
  const bearer = /\r\nwww-authenticate: (.*)/i.exec(answer)?.[1];
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]),
    headers: new Headers(bearer === undefined ? {} : { 'www-authenticate': bearer }),
    text,
    json: JSON.parse(text),
  };
}

interface Stranger {
  forger: Workshop['forger'];
  asked(): number;
  close(): Promise<void>;
}

/** Somebody with a key of their own, who would show it to whoever asks. */
async function startStranger(): Promise<Stranger> {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const publicJwk = await exportJWK(publicKey);
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    const keys = [{ ...publicJwk, kid: 'stranger', alg: 'EdDSA', use: 'sig' }];
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    forger: { key: privateKey, publicJwk, jwksUrl: `http://127.0.0.1:${port}/` },
    asked: () => asked,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function openWorkshops(deskbell: Deskbell, { forger }: Stranger): Promise<Record<Kind, Workshop>> {
  const { access_token, refresh_token } = (await login(deskbell)).json;
  const open = async (token: string): Promise<Workshop> => {
    const header = decodeProtectedHeader(token) as JWTHeaderParameters;
    return { token, header, claims: decodeJwt(token), forger, ...(await ownKey(deskbell, header.kid!)) };
  };
  return { access: await open(access_token), refresh: await open(refresh_token) };
}
