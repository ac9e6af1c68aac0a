import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { type Area, ERROR_CODES, statusOf } from '../../src/errors.ts';
import {
  type ApiDocument,
  type Media,
  type Operation,
  operationsOf,
  type Response,
  resolve,
} from '../support/openapiDocument.ts';
import { root } from '../support/process.ts';
import { useDeskbell } from '../support/server.ts';

const hasExample = ({ example, examples, schema }: Media) =>
  (example ?? examples ?? schema?.examples) !== undefined;

describe('the OpenAPI document', () => {
  const deskbell = useDeskbell('sqlite');
  let document: ApiDocument;
  let operations: [name: string, Operation][];
  before(async () => {
    ({ json: document } = await deskbell.call('GET', '/openapi.json'));
    operations = operationsOf(document);
  });

  it('is OpenAPI 3.1 and has the version of the package', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(document.info.version, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
  });

  it('lists exactly the routes of the committed openapi.json, each under its tag', () => {
    const committed: ApiDocument = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'));
    const tagsOf = (given: [string, Operation][]) => given.map(([name, { tags }]) => [name, tags]);
    assert.deepEqual(tagsOf(operations), tagsOf(operationsOf(committed)));
  });

  it('requires a bearer token for the right routes only', () => {
    const needing = operations.filter(([, { security }]) => security.length > 0).map(([name]) => name);
    const names = operations.map(([name]) => name);
    const expected = names.filter((name) =>
      / \/api\/v1\/(?!auth\/(login|refresh|logout|password\/(forgot|reset))$|invites\/(look|accept)$)/.test(
        name,
      ),
    );
    assert.deepEqual(needing.sort(), expected.sort());
  });

  it('describes every route, every response and every body, with examples', () => {
    for (const [name, { summary, description, requestBody, responses }] of operations) {
      assert.match(summary, /^[A-Z]/, name);
      assert.match(description, /\w.*\./, name);
      for (const [status, response] of Object.entries(responses)) {
        assert.notEqual(response.description, 'Default Response', `${name} ${status}`);
        if (status === '304') continue;
        for (const media of Object.values(response.content!))
          assert.ok(hasExample(media), `${name} ${status}`);
      }
      const bodyless =
        /\/(\{delivery_id\}\/cancel|revert|\{webhook_id\}\/test|alerts\/test|ungroup|reset-link|reopen)$|^post \/session\/(refresh|logout|passkey\/options)$/;
      // A change to the second factors needs the password again.
      const takesBody =
        /^(post|patch) |^put .*\/(outcome|channel|assignee|presence|subscriptions)$|^delete \/api\/v1\/(auth\/(totp|passkeys)|alerts)/.test(
          name,
        ) && !bodyless.test(name);
      assert.equal(requestBody !== undefined, takesBody, name);
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
          assert.ok(
            code && areas.some((area) => statusOf(code, area) === Number(status)),
            `${name} ${status}`,
          );
        }
      }
    }
  });

  it('names the parameters and headers that a route reads', () => {
    const named = Object.fromEntries(
      operations.map(([name, { parameters = [] }]) => [
        name.replace('/api/v1', ''),
        parameters.map((one) => `${one.in} ${one.name}`).sort(),
      ]),
    );
    const list = ['conversation_id', 'cursor', 'ids', 'include', 'limit', 'notification_types', 'status'];
    for (const [name, expected] of Object.entries({
      'get /notification/': [
        'header if-none-match',
        ...[...list, 'updated_since'].map((one) => `query ${one}`),
      ],
      'post /notification/request': ['header idempotency-key'],
      'post /notification/{notification_id}/answer': ['header idempotency-key', 'path notification_id'],
      'get /knowledge/': ['query cursor', 'query limit', 'query q'],
      'patch /knowledge/{document_id}': ['header if-match', 'path document_id'],
    }))
      assert.deepEqual(named[name], expected, name);
  });

  it('lists the headers of every response', () => {
    const headersOf = (name: string, status: number) =>
      Object.keys(Object.fromEntries(operations)[name]!.responses[status]!.headers!);
    const LIMITS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
    for (const [name, { tags, responses }] of operations) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        const expected = [
          'X-Request-Id',
          ...(tags.includes('operations') ? [] : LIMITS),
          ...(status === '401' ? ['WWW-Authenticate'] : []),
          ...(/429|503/.test(status) ? ['Retry-After'] : []),
        ];
        for (const header of expected) assert.ok(headers[header], `${name} ${status} ${header}`);
        for (const header of Object.values(headers))
          assert.match(resolve<Response>(document, header as never).description, /\w/);
      }
    }
    const list = ['ETag', 'Link', 'Cache-Control', ...LIMITS, 'X-Request-Id'];
    assert.deepEqual(headersOf('get /api/v1/notification/', 200), list);
    assert.deepEqual(
      headersOf('get /api/v1/notification/', 304),
      list.filter((name) => name !== 'Link'),
    );
    const raised = ['Location', 'Idempotency-Replayed', ...LIMITS, 'X-Request-Id'];
    assert.deepEqual(headersOf('post /api/v1/notification/request', 200), raised);
    assert.ok(headersOf('post /api/v1/notification/request', 409).includes('Retry-After'));
    assert.ok(headersOf('post /session/login', 200).includes('Set-Cookie'));
  });

  it('lists the scopes that open a route to keys', () => {
    const { securitySchemes } = document.components;
    assert.deepEqual(Object.keys(securitySchemes), ['bearer', 'key']);
    const byName = Object.fromEntries(operations);
    for (const [name, security] of [
      ['get /api/v1/notification/', [{ bearer: [] }, { key: ['notifications:read'] }]],
      ['get /api/v1/conversation/', [{ bearer: [] }, { key: ['ask'] }, { key: ['notifications:read'] }]],
      ['get /api/v1/auth/me', [{ bearer: [] }]],
      ['get /api/v1/keys/self', [{ key: [] }]],
    ] as const)
      assert.deepEqual(byName[name]!.security, security, name);
    assert.match(byName['get /api/v1/notification/']!.responses[403]!.description, /INSUFFICIENT_SCOPE/);
  });

  it('gives every route its own name, a verb and a noun, for clients that are generated', () => {
    const names = operations.map(([, { operationId }]) => operationId);
    for (const name of names) assert.match(name, /^[a-z]+([A-Z][a-z]*)+$/);
    assert.equal(new Set(names).size, operations.length);
    for (const name of ['listNotifications', 'answerNotification']) assert.ok(names.includes(name), name);
  });

  it('names what a client imports, and has no unnamed object in a list or a body', () => {
    const { schemas } = document.components;
    for (const name of [
      ...['Notification', 'NotificationWithAnswer', 'NewNotification', 'Answer', 'Document', 'Delivery'],
      ...['Conversation', 'Error', 'Message', 'User', 'Tokens', 'Key', 'Scope', 'DeliveryState'],
    ])
      assert.ok(schemas[name], name);
    const bodies = operations.flatMap(([name, { requestBody, responses }]) =>
      [requestBody, ...Object.values(responses)].map((body): [string, Media | undefined] => [
        name,
        body?.content?.['application/json'],
      ]),
    );
    const small = /\/(healthz|readyz|jwks\.json|demo)$/;
    for (const [name, media] of bodies) {
      if (!media?.schema || small.test(name)) continue;
      const { $ref, items } = media.schema as { $ref?: string; items?: { $ref?: string } };
      assert.match($ref ?? items?.$ref ?? '', /^#\/components\/schemas\/\w+$/, name);
    }
  });

  it('tells notifications apart by their type', () => {
    for (const [name, question, support] of [
      ['Notification', 'QuestionNotification', 'SupportNotification'],
      ['NotificationWithAnswer', 'QuestionWithAnswer', 'SupportWithAnswer'],
      ['NewNotification', 'NewQuestion', 'NewSupportRequest'],
    ]) {
      const { oneOf, discriminator } = document.components.schemas[name!];
      const mapping = {
        user_question_request: `#/components/schemas/${question}`,
        user_support_request: `#/components/schemas/${support}`,
      };
      assert.deepEqual(discriminator, { propertyName: 'notification_type', mapping });
      assert.deepEqual(
        oneOf,
        Object.values(mapping).map(($ref) => ({ $ref })),
      );
    }
    const { properties, required } = document.components.schemas.QuestionContext;
    assert.deepEqual(required, ['question']);
    assert.deepEqual(properties.document_id.anyOf, [{ type: 'integer' }, { type: 'null' }]);
  });
});
