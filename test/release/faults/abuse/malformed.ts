import fc, { type Arbitrary } from 'fast-check';
import type { Attack } from './exchange.ts';
import { bytesOf } from './requests.ts';

/** Bytes that are not one valid request: several requests, half a request, another protocol, or garbage. */
export function malformedTraffic(token: string): Arbitrary<Attack> {
  const authorization = ['Authorization', `Bearer ${token}`] as const;
  const LIST = '/api/v1/notification/';
  const get = (target: string) => bytesOf({ method: 'GET', target, headers: [authorization], body: NO_BODY });
  const notHttp = (text: string | Uint8Array): Attack => ({
    bytes: typeof text === 'string' ? Buffer.from(text, 'latin1') : Buffer.from(text),
    methods: [],
    half: true,
  });

  const garbage = fc.uint8Array({ minLength: 1, maxLength: 300 }).map(notHttp);
  const pipelined = fc
    .array(fc.constantFrom('/healthz', '/nowhere', `${LIST}?limit=1`, `${LIST}abc`), {
      minLength: 2,
      maxLength: 30,
    })
    .map((targets) => ({
      bytes: Buffer.concat(targets.map(get)),
      methods: targets.map(() => 'GET'),
      half: false,
    }));
  const halfHead = fc
    .double({ min: 0, max: 0.99, noNaN: true })
    .map((share) => ({ ...notHttp(get(LIST).subarray(0, Math.ceil(get(LIST).length * share))) }));
  const mangled = fc
    .tuple(fc.nat({ max: get(LIST).length - 1 }), fc.integer({ min: 0, max: 255 }))
    .map(([at, byte]) => {
      const bytes = Buffer.from(get(LIST));
      bytes[at] = byte;
      return notHttp(bytes);
    });
  const smuggled = fc
    .tuple(
      fc.constantFrom(
        'Content-Length: 4\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nContent-Length: 4',
        'Transfer-Encoding: xchunked\r\nContent-Length: 4',
        'Transfer-Encoding : chunked',
        'Transfer-Encoding:\tchunked\r\nTransfer-Encoding: identity',
        'X: 1\nTransfer-Encoding: chunked',
        'Content-Length: 0\r\n Transfer-Encoding: chunked',
        'Content-Length: 4\r\nContent-Length: 40',
      ),
      fc.constantFrom('0\r\n\r\n', '5c\r\n', '1\r\nZ\r\nQ\r\n\r\n', ''),
    )
    .map(([headers, body]) =>
      notHttp(
        `POST ${LIST}request HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}` +
          `DELETE ${LIST}1 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      ),
    );
  const shapes = fc.constantFrom(
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04\x00\x00\x00\x00\x00',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'GET / HTTP/0.9\r\n\r\n',
    'GET /\r\n\r\n',
    'GET / HTTP/1.0\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\nHost: localhost\n\n',
    'GET / HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: localhost\r\n folded: 1\r\n\r\n',
    'GET  /healthz  HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET http://127.0.0.1:1/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET http://[::1/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET //healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET \\healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello',
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n',
    '\r\n\r\n\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'HTTP/1.1 200 OK\r\n\r\n',
    `${'\r\n'.repeat(5000)}`,
    `GET /${'a'.repeat(15_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET /${'a'.repeat(200_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET /?${'a=1&'.repeat(3000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `${'A'.repeat(200_000)}`,
    `GET / HTTP/1.1\r\n${'x'.repeat(200_000)}`,
    `GET / HTTP/1.1\r\nHost: ${'é'.repeat(100)}\r\n\r\n`,
  );
  return fc.oneof(garbage, pipelined, halfHead, mangled, smuggled, shapes.map(notHttp));
}

const NO_BODY = Buffer.alloc(0);
