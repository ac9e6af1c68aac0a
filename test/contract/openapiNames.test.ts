import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type ApiDocument, type Media, operationsOf } from '../support/openapiDocument.ts';
import { root } from '../support/process.ts';

describe('a client that is generated from openapi.json', () => {
  const document: ApiDocument = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'));
  const operations = operationsOf(document);

  it('gives every route its own name, a verb and a noun', () => {
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

  it('shows for every write the message that this write returns', () => {
    const texts = Object.fromEntries(
      operations.flatMap(([, { operationId, responses }]) => {
        const { schema, example, examples } =
          (responses[200] ?? responses[202])!.content!['application/json'] ?? {};
        if (schema?.$ref !== '#/components/schemas/Message') return [];
        const all = [example, ...Object.values(examples ?? {}).map(({ value }) => value)];
        return [[operationId, all.flatMap((one) => (one ? [(one as { message: string }).message] : []))]];
      }),
    );
    assert.deepEqual(texts.deleteNotification, ['Notification deleted.']);
    assert.deepEqual(texts.raiseNotification, ['Notification requested.']);
    assert.deepEqual(texts.reopenNotification, ['Notification reopened.']);
    assert.ok(Object.keys(texts).length > 10);
    for (const [name, all] of Object.entries(texts)) assert.ok(!all.includes('Notification answered.'), name);
  });
});
