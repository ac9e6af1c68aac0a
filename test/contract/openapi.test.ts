import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { type Area, ERROR_CODES, statusOf } from '../../src/errors.ts';
import { useMerchant } from '../support/merchants.ts';
import { type ApiDocument, type Media, type Operation, operationsOf } from '../support/openapiDocument.ts';
import { root } from '../support/process.ts';
import { type Call, reportProblems } from '../support/validateCalls.ts';

const hasExample = ({ example, examples, schema }: Media) =>
  (example ?? examples ?? schema?.examples) !== undefined;

/** Every call of the tests is compared with it, too: see test/support/validateCalls.ts. */
describe('the OpenAPI document', () => {
  const shop = useMerchant('sqlite');
  let document: ApiDocument;
  let operations: [name: string, Operation][];
  before(async () => {
    ({ json: document } = await shop.deskbell.call('GET', '/openapi.json'));
    operations = operationsOf(document);
  });

  it('requires a bearer token for the right routes only', () => {
    const open = /^auth\/(login|refresh|logout|password\/(forgot|reset))$|^invites\/(look|accept)$/;
    for (const [name, { security }] of operations) {
      const [, path] = name.split(' /api/v1/');
      assert.equal(security.length > 0, path !== undefined && !open.test(path), name);
    }
  });

  it('describes every route, every response and every body, with examples', () => {
    for (const [name, { summary, description, requestBody, responses }] of operations) {
      assert.match(summary, /^[A-Z]/, name);
      assert.match(description, /\w.*\./, name);
      for (const [status, response] of Object.entries(responses)) {
        assert.notEqual(response.description, 'Default Response', `${name} ${status}`);
        assert.ok(response.headers?.['X-Request-Id'], `${name} ${status}`);
        for (const media of Object.values(response.content ?? {}))
          assert.ok(hasExample(media), `${name} ${status}`);
      }
      for (const media of Object.values(requestBody?.content ?? {})) assert.ok(hasExample(media), name);
    }
  });

  it('documents only errors from the error table, with their bodies', () => {
    for (const [name, { responses }] of operations) {
      const areas: Area[] = name.includes('/api/v1/notification/')
        ? ['notification', 'notificationBody']
        : ['general'];
      const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
      assert.ok(errors.length > 0, name);
      for (const [status, { content }] of errors) {
        const { schema, examples } = content!['application/json']!;
        assert.equal(schema?.$ref, '#/components/schemas/Error');
        for (const { value } of Object.values(examples!)) {
          const code = ERROR_CODES.find((one) => one === value.code);
          const isRight = code && areas.some((area) => statusOf(code, area) === Number(status));
          assert.ok(isRight, `${name} ${status} ${value.code}`);
        }
      }
    }
  });

  it('gives every route and every body a name, for clients that are generated', () => {
    const names = operations.map(([, { operationId }]) => operationId);
    for (const name of names) assert.match(name, /^[a-z]+([A-Z][a-z]*)+$/);
    assert.equal(new Set(names).size, operations.length);
    const small = /\/(healthz|readyz|jwks\.json|demo)$/;
    for (const [name, { requestBody, responses }] of operations) {
      for (const body of small.test(name) ? [] : [requestBody, ...Object.values(responses)]) {
        const schema = body?.content?.['application/json']?.schema as { $ref?: string; items?: object };
        if (!schema) continue;
        const { $ref } = { ...schema.items, ...schema };
        assert.match($ref ?? '', /^#\/components\/schemas\/\w+$/, name);
      }
    }
  });
});

const login: Call = {
  method: 'POST',
  path: '/api/v1/auth/login',
  requestHeaders: { 'content-type': 'application/json' },
  requestBody: '{"email":"owner@aurora.example","password":"aurora-demo"}',
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: '{"access_token":"a","refresh_token":"b","token_type":"bearer","expires_in":900}',
};
const list = { ...login, method: 'GET', path: '/api/v1/notification/', requestBody: undefined, body: '[]' };

const WRONG: [problem: RegExp, call: Call][] = [
  [/response\/expires_in must be integer/, { ...login, body: login.body.replace('900', 'null') }],
  [/418: the status is not documented/, { ...login, status: 418 }],
  [/the content type text\/html is not/, { ...login, headers: { 'content-type': 'text/html' } }],
  [/request must have required property 'password'/, { ...login, requestBody: '{"email":"a"}' }],
  [/no example with STRANGE/, { ...login, status: 422, body: '{"code":"STRANGE"}' }],
  [/the request has no token/, list],
  [/query limit.* must be integer/, { ...list, path: `${list.path}?limit=many` }],
  [
    /header ratelimit-limit.* must be integer/,
    { ...list, headers: { ...list.headers, 'RateLimit-Limit': 'x' } },
  ],
];

it('a call of the tests that does not match the API document is reported', () => {
  const document = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'));
  assert.equal(reportProblems(document, [login, { ...login, path: '/not/documented' }]), undefined);
  const report = reportProblems(document, [login, ...WRONG.map(([, call]) => call)]);
  for (const [problem] of WRONG) assert.match(report!, problem);
});
