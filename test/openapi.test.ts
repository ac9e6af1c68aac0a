import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { type Area, ERROR_CODES, statusOf } from '../src/errors.ts';
import { useDeskbell } from './harness.ts';
import {
  type ApiDocument,
  type Media,
  type Operation,
  operationsOf,
  type Response,
  resolve,
} from './openapiDocument.ts';
import { root } from './process.ts';

/** The routes of the contract, then our others. */
const ROUTES = {
  'post /api/v1/auth/login': 'auth',
  'post /api/v1/auth/refresh': 'auth',
  'get /api/v1/auth/me': 'auth',
  'get /api/v1/notification/': 'notifications',
  'post /api/v1/notification/{notification_id}/answer': 'notifications',
  'delete /api/v1/notification/{notification_id}': 'notifications',
  'post /api/v1/notification/request': 'notifications',
  'get /api/v1/notification/groups': 'notifications',
  'get /api/v1/notification/{notification_id}/similar': 'notifications',
  'post /api/v1/notification/answer-many': 'notifications',
  'post /api/v1/notification/resolve-many': 'notifications',
  'post /api/v1/notification/reopen-many': 'notifications',
  'post /api/v1/notification/delete-many': 'notifications',
  'post /api/v1/notification/{notification_id}/reopen': 'notifications',
  'get /api/v1/notification/{notification_id}/teaching': 'notifications',
  'post /api/v1/notification/{notification_id}/ungroup': 'notifications',
  'delete /api/v1/notification/{notification_id}/ungroup': 'notifications',
  'put /api/v1/notification/{notification_id}/assignee': 'notifications',
  'post /api/v1/notification/assign-many': 'notifications',
  'get /api/v1/notification/{notification_id}/notes': 'notifications',
  'post /api/v1/notification/{notification_id}/notes': 'notifications',
  'delete /api/v1/notification/{notification_id}/notes/{note_id}': 'notifications',
  'put /api/v1/notification/{notification_id}/presence': 'notifications',
  'get /api/v1/notification/{notification_id}/presence': 'notifications',
  'post /api/v1/auth/logout': 'auth',
  'get /api/v1/auth/sessions': 'auth',
  'delete /api/v1/auth/sessions': 'auth',
  'delete /api/v1/auth/sessions/{session_id}': 'auth',
  'post /api/v1/auth/password': 'auth',
  'post /api/v1/auth/password/forgot': 'auth',
  'post /api/v1/auth/password/reset': 'auth',
  'get /api/v1/team': 'team',
  'patch /api/v1/team/{user_id}': 'team',
  'post /api/v1/team/{user_id}/reset-link': 'team',
  'get /api/v1/invites': 'team',
  'post /api/v1/invites': 'team',
  'delete /api/v1/invites/{invite_id}': 'team',
  'post /api/v1/invites/look': 'team',
  'post /api/v1/invites/accept': 'team',
  'get /api/v1/auth/factors': 'auth',
  'post /api/v1/auth/totp': 'auth',
  'post /api/v1/auth/totp/confirm': 'auth',
  'delete /api/v1/auth/totp': 'auth',
  'post /api/v1/auth/recovery-codes': 'auth',
  'post /api/v1/auth/passkeys/options': 'auth',
  'post /api/v1/auth/passkeys': 'auth',
  'delete /api/v1/auth/passkeys/{passkey_id}': 'auth',
  'get /api/v1/merchant': 'merchant',
  'patch /api/v1/merchant': 'merchant',
  'get /api/v1/export': 'merchant',
  'get /api/v1/keys': 'keys',
  'get /api/v1/keys/self': 'keys',
  'post /api/v1/keys': 'keys',
  'delete /api/v1/keys/{key_id}': 'keys',
  'get /api/v1/notification/{notification_id}': 'notifications',
  'get /api/v1/notification/{notification_id}/suggestions': 'knowledge',
  'get /api/v1/knowledge/': 'knowledge',
  'post /api/v1/knowledge/': 'knowledge',
  'get /api/v1/knowledge/find': 'knowledge',
  'post /api/v1/knowledge/import': 'knowledge',
  'get /api/v1/knowledge/export': 'knowledge',
  'get /api/v1/knowledge/changes': 'knowledge',
  'get /api/v1/knowledge/stale': 'knowledge',
  'get /api/v1/knowledge/gaps': 'knowledge',
  'get /api/v1/knowledge/confidence': 'knowledge',
  'put /api/v1/knowledge/confidence/reset': 'knowledge',
  'delete /api/v1/knowledge/confidence/reset': 'knowledge',
  'get /api/v1/knowledge/known': 'knowledge',
  'put /api/v1/knowledge/known/{known_id}/outcome': 'knowledge',
  'post /api/v1/ask': 'asks',
  'get /api/v1/ask': 'asks',
  'get /api/v1/ask/{ask_id}': 'asks',
  'delete /api/v1/ask/{ask_id}': 'asks',
  'get /api/v1/knowledge/{document_id}': 'knowledge',
  'patch /api/v1/knowledge/{document_id}': 'knowledge',
  'post /api/v1/knowledge/{document_id}/revert': 'knowledge',
  'delete /api/v1/knowledge/{document_id}': 'knowledge',
  'post /api/v1/knowledge/{document_id}/wordings': 'knowledge',
  'delete /api/v1/knowledge/{document_id}/wordings/{wording_id}': 'knowledge',
  'get /api/v1/delivery/': 'deliveries',
  'get /api/v1/delivery/{delivery_id}': 'deliveries',
  'post /api/v1/delivery/{delivery_id}/retry': 'deliveries',
  'post /api/v1/delivery/{delivery_id}/cancel': 'deliveries',
  'post /api/v1/delivery/retry': 'deliveries',
  'post /api/v1/delivery/cancel': 'deliveries',
  'get /api/v1/limits': 'deliveries',
  'get /api/v1/channel': 'deliveries',
  'get /api/v1/channel/types': 'deliveries',
  'post /api/v1/channel/test': 'deliveries',
  'get /api/v1/channel/template': 'deliveries',
  'put /api/v1/channel': 'deliveries',
  'delete /api/v1/channel': 'deliveries',
  'get /api/v1/simulator/{conversation_id}': 'simulator',
  'post /api/v1/simulator/{conversation_id}': 'simulator',
  'get /api/v1/alerts/key': 'alerts',
  'put /api/v1/alerts/subscriptions': 'alerts',
  'delete /api/v1/alerts/subscriptions': 'alerts',
  'get /api/v1/alerts/settings': 'alerts',
  'patch /api/v1/alerts/settings': 'alerts',
  'post /api/v1/alerts/test': 'alerts',
  'put /api/v1/alerts/looked': 'alerts',
  'get /api/v1/conversation/': 'conversations',
  'post /api/v1/conversation/': 'conversations',
  'get /api/v1/conversation/{conversation_id}': 'conversations',
  'delete /api/v1/conversation/{conversation_id}': 'conversations',
  'post /api/v1/conversation/{conversation_id}/messages': 'conversations',
  'get /api/v1/conversation/{conversation_id}/messages': 'conversations',
  'get /api/v1/conversation/{conversation_id}/timeline': 'conversations',
  'post /api/v1/conversation/{conversation_id}/send': 'conversations',
  'delete /api/v1/conversation/{conversation_id}/sent/{delivery_id}': 'conversations',
  'put /api/v1/conversation/{conversation_id}/takeover': 'conversations',
  'delete /api/v1/conversation/{conversation_id}/takeover': 'conversations',
  'get /api/v1/saved-replies': 'conversations',
  'post /api/v1/saved-replies': 'conversations',
  'patch /api/v1/saved-replies/{saved_reply_id}': 'conversations',
  'delete /api/v1/saved-replies/{saved_reply_id}': 'conversations',
  'get /api/v1/overview': 'notifications',
  'get /api/v1/inbox': 'notifications',
  'get /api/v1/inbox/counts': 'notifications',
  'get /api/v1/inbox/presence': 'notifications',
  'post /api/v1/inbox/attention/send-again': 'notifications',
  'post /api/v1/notification/{notification_id}/recipient': 'notifications',
  'post /api/v1/delivery/{delivery_id}/recipient': 'deliveries',
  'get /api/v1/audit': 'audit',
  'get /api/v1/webhooks': 'webhooks',
  'post /api/v1/webhooks': 'webhooks',
  'get /api/v1/webhooks/{webhook_id}': 'webhooks',
  'patch /api/v1/webhooks/{webhook_id}': 'webhooks',
  'delete /api/v1/webhooks/{webhook_id}': 'webhooks',
  'post /api/v1/webhooks/{webhook_id}/rotate': 'webhooks',
  'post /api/v1/webhooks/{webhook_id}/test': 'webhooks',
  'post /api/v1/webhooks/{webhook_id}/replay': 'webhooks',
  'get /api/v1/webhooks/{webhook_id}/attempts': 'webhooks',
  'get /api/v1/events': 'live',
  'get /api/v1/events/log': 'live',
  'post /session/login': 'session',
  'post /session/passkey/options': 'session',
  'post /session/passkey': 'session',
  'post /session/refresh': 'session',
  'post /session/logout': 'session',
  'get /session/demo': 'session',
  'get /healthz': 'operations',
  'get /readyz': 'operations',
  'get /metrics': 'operations',
  'get /.well-known/jwks.json': 'operations',
};

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

  it('is OpenAPI 3.1 with its tags in order', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/);
    const tags: { name: string; description: string }[] = document.tags;
    assert.deepEqual(
      tags.map(({ name }) => name),
      [
        'auth',
        'merchant',
        'team',
        'keys',
        'session',
        'notifications',
        'asks',
        'conversations',
        'knowledge',
        'deliveries',
        'simulator',
        'audit',
        'webhooks',
        'alerts',
        'live',
        'operations',
      ],
    );
    for (const { description } of tags) assert.match(description, /\w/);
    assert.equal(document.info.version, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);
  });

  it('lists exactly the existing routes, each under its tag', () => {
    const found = Object.fromEntries(operations.map(([name, { tags }]) => [name, tags.join()]));
    assert.deepEqual(found, ROUTES);
  });

  it('requires a bearer token for the right routes only', () => {
    const needing = operations.filter(([, { security }]) => security.length > 0).map(([name]) => name);
    const expected = Object.keys(ROUTES).filter((name) =>
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

  it('documents the errors that these calls return', async () => {
    const token = await deskbell.signIn();
    const calls: [name: string, path: string, options: object][] = [
      ['post /api/v1/auth/login', '/api/v1/auth/login', { body: {} }],
      ['post /api/v1/auth/login', '/api/v1/auth/login', { body: { email: 'a@b.example', password: 'x' } }],
      ['post /api/v1/auth/refresh', '/api/v1/auth/refresh', { body: { refresh_token: 'x' } }],
      [
        'post /api/v1/auth/refresh',
        '/api/v1/auth/refresh',
        { body: '<', headers: { 'content-type': 'text/xml' } },
      ],
      ['get /api/v1/auth/me', '/api/v1/auth/me', {}],
      ['get /api/v1/auth/factors', '/api/v1/auth/factors', {}],
      ['post /api/v1/auth/totp', '/api/v1/auth/totp', { token, body: {} }],
      ['post /api/v1/auth/totp/confirm', '/api/v1/auth/totp/confirm', { token, body: { otp: 'x' } }],
      ['delete /api/v1/auth/totp', '/api/v1/auth/totp', { token, body: { password: 'aurora-demo' } }],
      [
        'post /api/v1/auth/recovery-codes',
        '/api/v1/auth/recovery-codes',
        { token, body: { password: 'aurora-demo' } },
      ],
      ['post /api/v1/auth/passkeys/options', '/api/v1/auth/passkeys/options', { token, body: {} }],
      ['post /api/v1/auth/passkeys', '/api/v1/auth/passkeys', { token, body: {} }],
      [
        'delete /api/v1/auth/passkeys/{passkey_id}',
        '/api/v1/auth/passkeys/x',
        { token, body: { password: 'aurora-demo' } },
      ],
      ['get /api/v1/notification/', '/api/v1/notification/', {}],
      ['get /api/v1/notification/', '/api/v1/notification/?status=lost', { token }],
      ['delete /api/v1/notification/{notification_id}', '/api/v1/notification/0', { token }],
      [
        'post /api/v1/notification/{notification_id}/answer',
        '/api/v1/notification/1/answer',
        { token, body: {} },
      ],
      [
        'post /api/v1/notification/{notification_id}/answer',
        '/api/v1/notification/4/answer',
        { token, body: {} },
      ],
      ['post /api/v1/notification/{notification_id}/reopen', '/api/v1/notification/4/reopen', { token }],
      ['post /api/v1/notification/resolve-many', '/api/v1/notification/resolve-many', { token, body: {} }],
      ['post /api/v1/notification/request', '/api/v1/notification/request', { token, body: {} }],
      [
        'post /api/v1/notification/request',
        '/api/v1/notification/request',
        { token, body: 'x'.repeat(300_000) },
      ],
      [
        'get /api/v1/notification/{notification_id}/suggestions',
        '/api/v1/notification/0/suggestions',
        { token },
      ],
      [
        'get /api/v1/notification/{notification_id}/suggestions',
        '/api/v1/notification/4/suggestions?limit=21',
        { token },
      ],
      ['get /api/v1/knowledge/', '/api/v1/knowledge/?limit=0', { token }],
      ['get /api/v1/knowledge/{document_id}', '/api/v1/knowledge/0', { token }],
      ['patch /api/v1/knowledge/{document_id}', '/api/v1/knowledge/1', { token, body: {} }],
      [
        'patch /api/v1/knowledge/{document_id}',
        '/api/v1/knowledge/1',
        { token, body: { body: 'New.' }, headers: { 'if-match': '"another"' } },
      ],
      ['post /api/v1/knowledge/{document_id}/revert', '/api/v1/knowledge/1/revert', { token }],
      ['delete /api/v1/knowledge/{document_id}', '/api/v1/knowledge/0', { token }],
      [
        'post /api/v1/knowledge/{document_id}/wordings',
        '/api/v1/knowledge/1/wordings',
        { token, body: { text: '' } },
      ],
      [
        'delete /api/v1/knowledge/{document_id}/wordings/{wording_id}',
        '/api/v1/knowledge/1/wordings/0',
        { token },
      ],
      ['get /api/v1/delivery/', '/api/v1/delivery/?state=lost', { token }],
      ['get /api/v1/delivery/', '/api/v1/delivery/?limit=0', { token }],
      ['get /api/v1/delivery/{delivery_id}', '/api/v1/delivery/0', { token }],
      ['post /api/v1/delivery/{delivery_id}/retry', '/api/v1/delivery/0/retry', { token }],
      ['post /api/v1/delivery/{delivery_id}/cancel', '/api/v1/delivery/0/cancel', { token }],
      ['post /api/v1/delivery/retry', '/api/v1/delivery/retry', { token, body: { state: 'lost' } }],
      ['post /api/v1/delivery/cancel', '/api/v1/delivery/cancel', { token, body: { state: 'lost' } }],
      ['get /api/v1/limits', '/api/v1/limits', {}],
      ['get /api/v1/conversation/', '/api/v1/conversation/?ids=x', { token }],
      ['get /api/v1/overview', '/api/v1/overview?days=0', { token }],
      ['get /api/v1/inbox', '/api/v1/inbox?tab=x', { token }],
      ['get /api/v1/inbox/counts', '/api/v1/inbox/counts?type=x', { token }],
      ['get /api/v1/inbox/presence', '/api/v1/inbox/presence?ids=x', { token }],
      [
        'post /api/v1/inbox/attention/send-again',
        '/api/v1/inbox/attention/send-again',
        { token, body: { ids: [] } },
      ],
      [
        'post /api/v1/notification/{notification_id}/recipient',
        '/api/v1/notification/0/recipient',
        { token, body: { phone: '1' } },
      ],
      [
        'post /api/v1/delivery/{delivery_id}/recipient',
        '/api/v1/delivery/0/recipient',
        { token, body: { phone: '1' } },
      ],
      ['get /api/v1/audit', '/api/v1/audit?what=x', { token }],
      ['get /api/v1/events', '/api/v1/events', {}],
      ['post /session/login', '/session/login', { body: {} }],
      ['post /session/passkey', '/session/passkey', { body: {} }],
      [
        'post /session/passkey/options',
        '/session/passkey/options',
        { headers: { 'x-deskbell-dashboard': '1' } },
      ],
      ['post /session/refresh', '/session/refresh', { headers: { 'x-deskbell-dashboard': '1' } }],
      ['post /session/logout', '/session/logout', {}],
      ['get /session/demo', '/session/demo', {}],
      ['get /api/v1/simulator/{conversation_id}', '/api/v1/simulator/4', { token }],
      ['post /api/v1/simulator/{conversation_id}', '/api/v1/simulator/4', { token, body: { text: 'Hello' } }],
      ['post /api/v1/simulator/{conversation_id}', '/api/v1/simulator/1', { token, body: {} }],
    ];
    for (const [name, path, options] of calls) {
      const method = name.split(' ')[0]!.toUpperCase();
      const { status, json } = await deskbell.call(method, path, options);
      const documented = Object.values(
        operations.find(([one]) => one === name)![1].responses[status]?.content?.['application/json']
          ?.examples ?? {},
      );
      assert.ok(
        documented.some(({ value }) => value.code === json.code),
        `${name} ${status} ${json.code}`,
      );
    }
  });

  it('names the parameters and headers that a route reads', () => {
    const named = (name: string) => {
      const { parameters = [] } = Object.fromEntries(operations)[name]!;
      return parameters.map((one) => `${one.in} ${one.name}`).sort();
    };
    const LIST = [
      'header if-none-match',
      'query conversation_id',
      'query cursor',
      'query ids',
      'query include',
      'query limit',
      'query notification_types',
      'query status',
      'query updated_since',
    ];
    assert.deepEqual(named('get /api/v1/notification/'), LIST);
    assert.deepEqual(named('post /api/v1/notification/request'), ['header idempotency-key']);
    assert.deepEqual(named('post /api/v1/notification/{notification_id}/answer'), [
      'header idempotency-key',
      'path notification_id',
    ]);
    assert.deepEqual(named('get /api/v1/notification/{notification_id}/suggestions'), [
      'path notification_id',
      'query limit',
    ]);
    assert.deepEqual(named('get /api/v1/knowledge/'), ['query cursor', 'query limit', 'query q']);
    assert.deepEqual(named('patch /api/v1/knowledge/{document_id}'), ['header if-match', 'path document_id']);
    assert.deepEqual(named('post /api/v1/knowledge/{document_id}/revert'), ['path document_id']);
    assert.deepEqual(named('delete /api/v1/knowledge/{document_id}'), ['path document_id']);
    assert.deepEqual(named('get /api/v1/delivery/'), ['query cursor', 'query limit', 'query state']);
    assert.deepEqual(named('post /api/v1/delivery/{delivery_id}/retry'), ['path delivery_id']);
    assert.deepEqual(named('get /api/v1/simulator/{conversation_id}'), ['path conversation_id']);
    assert.deepEqual(named('post /api/v1/simulator/{conversation_id}'), ['path conversation_id']);
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
});
