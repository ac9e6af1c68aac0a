import { createDecipheriv, createECDH, createHmac, createPublicKey, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listenLocally } from './loopback.ts';

/** A push service (RFC 8030) with browsers that can decrypt what they get (RFC 8291, RFC 8188). On loopback. */
export interface PushService {
  origin: string;
  /** A new browser, as `PushSubscription.toJSON()` shows it. */
  browser(): Browser;
  /** Messages that were accepted, oldest first. */
  accepted: Push[];
  /** How many are open. */
  connections(): Promise<number>;
  /** Every request, also those that it refused. */
  requests: Push[];
  /** How it responds; 201 by default. */
  answer: (response: ServerResponse, push: Push) => void;
  close(): Promise<void>;
}

export interface Browser {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export interface Push {
  endpoint: string;
  headers: IncomingHttpHeaders;
  /** What the browser shows. */
  // biome-ignore lint/suspicious/noExplicitAny: tests check the message, whatever its shape
  message: any;
  /** The public key that signed it. */
  applicationServerKey: string;
}

const BODY_MAX_BYTES = 4096;

interface Keys {
  ecdh: ReturnType<typeof createECDH>;
  auth: Buffer;
}

export async function startPushService(): Promise<PushService> {
  const browsers = new Map<string, Keys>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const { method, url = '', headers } = request;
      const keys = browsers.get(url);
      const body = Buffer.concat(parts);
      if (method !== 'POST' || !keys) return response.writeHead(404).end();
      if (body.length > BODY_MAX_BYTES) return response.writeHead(413).end();
      if (!/^\d+$/.test(String(headers.ttl))) return response.writeHead(400).end('TTL');
      if (headers.topic !== undefined && !/^[\w-]{1,32}$/.test(String(headers.topic)))
        return response.writeHead(400).end('Topic');
      if (headers['content-encoding'] !== 'aes128gcm') return response.writeHead(415).end();
      const applicationServerKey = checkVapid(headers.authorization, service.origin);
      if (!applicationServerKey) return response.writeHead(403).end();
      const message = JSON.parse(decrypt(body, keys));
      const push = { endpoint: service.origin + url, headers, message, applicationServerKey };
      service.requests.push(push);
      service.answer(response, push);
      response.once('finish', () => {
        if (response.statusCode === 201) service.accepted.push(push);
      });
    });
  });
  const { origin, close } = await listenLocally(server);
  const service: PushService = {
    origin,
    accepted: [],
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    requests: [],
    answer: (response) => response.writeHead(201, { location: '/message/1' }).end(),
    browser() {
      const ecdh = createECDH('prime256v1');
      const p256dh = ecdh.generateKeys('base64url');
      const auth = randomBytes(16);
      const path = `/p/${randomBytes(12).toString('base64url')}`;
      browsers.set(path, { ecdh, auth });
      return { endpoint: service.origin + path, keys: { p256dh, auth: auth.toString('base64url') } };
    },
    close,
  };
  return service;
}

/** RFC 8292: a token for this service, not for long, signed with the key beside it. */
function checkVapid(authorization: string | undefined, origin: string): string | undefined {
  const match = /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)$/.exec(authorization ?? '');
  if (!match) return undefined;
  const [, header = '', payload = '', signature = '', k = ''] = match;
  const point = Buffer.from(k, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
  const isGenuine = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  const { aud, exp, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const leftSeconds = exp - Date.now() / 1000;
  const isValid =
    aud === origin && leftSeconds > 0 && leftSeconds <= 24 * 3600 && /^(mailto|https):/.test(sub);
  return isGenuine && isValid ? k : undefined;
}

const hmac = (key: Buffer, ...data: Buffer[]) =>
  createHmac('sha256', key).update(Buffer.concat(data)).digest();

/** One record, as RFC 8291 requires. */
function decrypt(body: Buffer, { ecdh, auth }: Keys): string {
  const salt = body.subarray(0, 16);
  const idLength = body[20]!;
  const serverKey = body.subarray(21, 21 + idLength);
  const record = body.subarray(21 + idLength);
  const one = Buffer.from([1]);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), serverKey]);
  const input = hmac(hmac(auth, ecdh.computeSecret(serverKey)), info, one);
  const secret = hmac(salt, input);
  const key = hmac(secret, Buffer.from('Content-Encoding: aes128gcm\0'), one).subarray(0, 16);
  const nonce = hmac(secret, Buffer.from('Content-Encoding: nonce\0'), one).subarray(0, 12);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(record.subarray(-16));
  const plain = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = plain.lastIndexOf(2);
  return plain.subarray(0, end).toString();
}
