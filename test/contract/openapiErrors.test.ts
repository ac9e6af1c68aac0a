import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Operation, operationsOf } from '../support/openapiDocument.ts';
import { useDeskbell } from '../support/server.ts';

describe('the errors in the OpenAPI document', () => {
  const deskbell = useDeskbell('sqlite');
  let operations: [name: string, Operation][];
  before(async () => {
    operations = operationsOf((await deskbell.call('GET', '/openapi.json')).json);
  });

  it('include those that these calls return', async () => {
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
});
