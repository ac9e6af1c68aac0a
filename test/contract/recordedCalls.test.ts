import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ApiDocument } from '../support/openapiDocument.ts';
import { root } from '../support/process.ts';
import { type Call, reportProblems } from '../support/validateCalls.ts';

/** After the tests, every call that they made must match openapi.json. */
describe('the check of recorded calls', () => {
  const document: ApiDocument = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'));
  const json = { 'content-type': 'application/json; charset=utf-8' };
  const login: Call = {
    method: 'POST',
    path: '/api/v1/auth/login',
    requestHeaders: { 'content-type': 'application/json' },
    requestBody: '{"email":"owner@aurora.example","password":"aurora-demo"}',
    status: 200,
    headers: json,
    body: '{"access_token":"a","refresh_token":"b","token_type":"bearer","expires_in":900}',
  };
  const deletion: Call = {
    ...login,
    method: 'DELETE',
    path: '/api/v1/notification/1',
    requestHeaders: { authorization: 'Bearer x' },
    requestBody: undefined,
    body: '{"message":"Notification deleted."}',
  };
  const list: Call = { ...deletion, method: 'GET', path: '/api/v1/notification/?limit=5', body: '[]' };
  const invalid = '{"detail":"No.","code":"VALIDATION_ERROR","field":"email"}';

  it('accepts calls that match the document, and those to paths that it does not have', () => {
    const refused = { ...login, requestBody: '{}', status: 422, body: invalid };
    const types = '?notification_types=user_question_request,user_support_request';
    const calls = [login, deletion, list, refused, { ...list, path: `/api/v1/notification/${types}` }];
    assert.equal(reportProblems(document, [...calls, { ...login, path: '/not/documented' }]), undefined);
  });

  const WRONG: [problem: RegExp, call: Call][] = [
    [
      /login 200: response\/expires_in must be integer/,
      { ...login, body: login.body.replace('900', 'null') },
    ],
    [/login 200: response must have required property 'access_token'/, { ...login, body: '{}' }],
    [/login 418: the status is not documented/, { ...login, status: 418 }],
    [/login 200: the content type text\/html is not/, { ...login, headers: { 'content-type': 'text/html' } }],
    [/login 200: request must have required property 'password'/, { ...login, requestBody: '{"email":"a"}' }],
    [
      /login 422: the document has no example with STRANGE/,
      { ...login, status: 422, body: '{"code":"STRANGE"}' },
    ],
    [/notification\/N 200: the request has no token/, { ...deletion, requestHeaders: {} }],
    [/N 200: .* no example with "Gone\."/, { ...deletion, body: '{"message":"Gone."}' }],
    [
      /notification\/ 200: query limit.* must be integer/,
      { ...list, path: '/api/v1/notification/?limit=many' },
    ],
    [
      /response header ratelimit-limit.* must be integer/,
      { ...list, headers: { ...json, 'RateLimit-Limit': 'x' } },
    ],
  ];
  it('reports each kind of problem', () => {
    const report = reportProblems(document, [login, ...WRONG.map(([, call]) => call)]);
    for (const [problem] of WRONG) assert.match(report!, problem);
  });

  it('reports what the document lost', () => {
    const changed = structuredClone(document);
    delete changed.paths['/api/v1/auth/login'].post.responses['422'];
    changed.components.schemas.Tokens.properties.expires_in = { type: 'string' };
    const report = reportProblems(changed, [login, { ...login, status: 422, body: invalid }]);
    assert.match(report!, /login 200: response\/expires_in must be string/);
    assert.match(report!, /login 422: the status is not documented/);
    assert.match(report!, /2 calls checked, 2 kinds of problems/);
  });
});
