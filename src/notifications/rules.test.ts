import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { NOTIFICATION_TYPES, type NotificationType, type Status } from '../contract/notifications.ts';
import { CONTEXT_TYPES, KINDS } from './kinds.ts';
import { type AnswerDecision, checkAnswer, checkRequest, type RequestDecision } from './rules.ts';

/** A decision in one line: the action, or the error. */
function describeDecision(decision: RequestDecision | AnswerDecision): string {
  if (decision.do === 'refuse')
    return `${decision.error.code} ${decision.error.field ?? '-'}: ${decision.error.message}`;
  if (decision.do === 'raise') return `raise ${decision.type} in ${decision.conversationId}`;
  const learn = decision.send !== 'nothing' && decision.learn;
  const from = decision.send !== 'nothing' && decision.documentId ? ` from ${decision.documentId}` : '';
  return `send ${decision.send}, learn ${learn}${from}, keep ${JSON.stringify(decision.answer)}`;
}

const valid = (type: NotificationType) => ({
  notification_type: type,
  conversation_id: 1,
  context: Object.fromEntries(KINDS[type].requestedFields.map((field) => [field, 'Text.'])),
});

describe('a request', () => {
  it('is raised if its context has every requested field of its type', () => {
    for (const type of NOTIFICATION_TYPES) {
      assert.equal(describeDecision(checkRequest(valid(type))), `raise ${type} in 1`);
    }
  });

  it('is refused if a requested field is missing, null or blank, for every type', () => {
    for (const type of NOTIFICATION_TYPES) {
      for (const field of KINDS[type].requestedFields) {
        for (const value of [undefined, null, '', '\u2003']) {
          const { context, ...rest } = valid(type);
          const decision = checkRequest({ ...rest, context: { ...context, [field]: value } });
          assert.equal(describeDecision(decision), `VALIDATION_ERROR ${field}: ${field} is required`);
        }
      }
    }
  });

  it('is refused if a known key has the wrong type; null counts as missing', () => {
    const { context, ...rest } = valid('user_question_request');
    for (const [field, kind] of CONTEXT_TYPES) {
      const wrong = kind === 'integer' ? '7' : 7;
      const named = kind === 'integer' ? 'an integer' : 'a string';
      const decision = checkRequest({ ...rest, context: { ...context, [field]: wrong } });
      assert.equal(describeDecision(decision), `VALIDATION_ERROR ${field}: ${field} must be ${named}`);
      if (field in context) continue;
      const withNull = checkRequest({ ...rest, context: { ...context, [field]: null } });
      assert.equal(withNull.do, 'raise', field);
    }
  });

  it('reads own members only: inherited members count as missing', () => {
    const inherited = Object.create(valid('user_question_request'));
    assert.equal(
      describeDecision(checkRequest(inherited)),
      'VALIDATION_ERROR notification_type: notification_type is required',
    );
    const context = Object.create({ question: 'Inherited?' });
    const decision = checkRequest({ ...valid('user_question_request'), context });
    assert.equal(describeDecision(decision), 'VALIDATION_ERROR question: question is required');
  });

  it('has no conversation if the number is not an id', () => {
    for (const id of [0, -0, -1, -(2 ** 53), 2 ** 53, 1e30, Number.MAX_VALUE]) {
      const decision = checkRequest({ ...valid('user_question_request'), conversation_id: id });
      assert.equal(
        describeDecision(decision),
        'CONVERSATION_NOT_FOUND conversation_id: Conversation not found.',
      );
    }
    for (const id of [0.5, Number.POSITIVE_INFINITY, Number.NaN, '1', true]) {
      const decision = checkRequest({ ...valid('user_question_request'), conversation_id: id });
      assert.equal(
        describeDecision(decision),
        'VALIDATION_ERROR conversation_id: conversation_id must be an integer',
      );
    }
  });
});

const ajv = new Ajv2020({ strict: false });
const check = (type: NotificationType, body: unknown, status: Status = 'requested') =>
  describeDecision(
    checkAnswer(
      {
        type,
        status,
        answeredFields: KINDS[type].answeredFields,
        matchesSchema: ajv.compile(KINDS[type].answerSchema),
      },
      body,
    ),
  );

const MISSING = 'Missing admin response content in context (expected field:';
const SCHEMA_ERROR = 'Answer validation failed against JSON schema:';
const REPLY = { agent_response_to_customer: 'R', resolution_notes: 'N' };

const QUESTION_ANSWERS: [body: unknown, expected: string][] = [
  [{ answer: 'A' }, 'send reply, learn true, keep {"answer":"A"}'],
  [{ answer: 'A', only_send_campaign: false }, 'send reply, learn true, keep {"answer":"A"}'],
  [
    { answer: 'A', only_send_campaign: true },
    'send campaign, learn false, keep {"answer":"A","only_send_campaign":true}',
  ],
  [{ answer: 'A', other: 1 }, 'send reply, learn true, keep {"answer":"A"}'],
  [{ answer: 'A', document_id: 3 }, 'send reply, learn true from 3, keep {"answer":"A"}'],
  [{ answer: 'A', document_id: null }, 'send reply, learn true, keep {"answer":"A"}'],
  [{ answer: 'A', document_id: '3' }, 'VALIDATION_ERROR document_id: document_id must be an integer'],
  [{ document_id: '3' }, `VALIDATION_ERROR answer: ${MISSING} answer)`],
  [{ resolve_only: true }, 'send nothing, learn false, keep {"resolve_only":true}'],
  [
    { resolve_only: true, only_send_campaign: true, answer: 7 },
    'send nothing, learn false, keep {"resolve_only":true}',
  ],
  [{ resolve_only: false }, `VALIDATION_ERROR answer: ${MISSING} answer)`],
  [{ resolve_only: 1, answer: 'A' }, 'VALIDATION_ERROR resolve_only: resolve_only must be a boolean'],
  [
    { resolve_only: true, only_send_campaign: 1 },
    'VALIDATION_ERROR only_send_campaign: only_send_campaign must be a boolean',
  ],
  [{ answer: ' ' }, `VALIDATION_ERROR answer: ${MISSING} answer)`],
  [Object.create({ answer: 'A' }), `VALIDATION_ERROR answer: ${MISSING} answer)`],
  [{ answer: ['A'] }, `VALIDATION_ERROR answer: ${SCHEMA_ERROR} answer must be string`],
  [
    { answer: '😀'.repeat(4097) },
    `VALIDATION_ERROR answer: ${SCHEMA_ERROR} answer must NOT have more than 4096 characters`,
  ],
  [[], 'VALIDATION_ERROR body: body must be a JSON object'],
  [null, 'VALIDATION_ERROR body: body must be a JSON object'],
  [undefined, 'VALIDATION_ERROR body: body must be a JSON object'],
];

const SUPPORT_ANSWERS: [body: unknown, expected: string][] = [
  [REPLY, `send reply, learn false, keep ${JSON.stringify(REPLY)}`],
  [{ ...REPLY, document_id: 'x' }, `send reply, learn false, keep ${JSON.stringify(REPLY)}`],
  [
    { ...REPLY, only_send_campaign: true },
    `send campaign, learn false, keep ${JSON.stringify({ ...REPLY, only_send_campaign: true })}`,
  ],
  [{ resolve_only: true }, 'send nothing, learn false, keep {"resolve_only":true}'],
  [{}, `VALIDATION_ERROR agent_response_to_customer: ${MISSING} agent_response_to_customer)`],
  [
    { resolution_notes: 'N' },
    `VALIDATION_ERROR agent_response_to_customer: ${MISSING} agent_response_to_customer)`,
  ],
  [{ agent_response_to_customer: 7 }, 'VALIDATION_ERROR resolution_notes: resolution_notes is required'],
  [
    { ...REPLY, resolution_notes: 7 },
    `VALIDATION_ERROR resolution_notes: ${SCHEMA_ERROR} resolution_notes must be string`,
  ],
];

describe('an answer', () => {
  for (const [type, rows] of [
    ['user_question_request', QUESTION_ANSWERS],
    ['user_support_request', SUPPORT_ANSWERS],
  ] as const) {
    it(`to a ${type} is checked against the contract`, () => {
      for (const [body, expected] of rows) assert.equal(check(type, body), expected);
    });
  }

  it('is refused if it is the second, whatever its content', () => {
    const already =
      'ALREADY_ANSWERED -: This notification has already been answered and cannot be answered again.';
    for (const body of [{ answer: 'A' }, { resolve_only: true }, { resolve_only: 1 }, {}, null]) {
      assert.equal(check('user_question_request', body, 'answered'), already);
    }
  });
});

describe('the table of types', () => {
  it('requires in its schemas the fields that it lists, each a text of 1 to 4,096 characters', () => {
    for (const type of NOTIFICATION_TYPES) {
      const { answeredFields, answerSchema } = KINDS[type];
      const matches = ajv.compile(answerSchema);
      const with_ = (field: string, value: unknown) => ({
        ...Object.fromEntries(answeredFields.map((name) => [name, 'Text.'])),
        [field]: value,
      });
      for (const field of answeredFields) {
        for (const value of ['.', ' . ', '😀'.repeat(4096)]) assert.ok(matches(with_(field, value)));
        for (const value of [undefined, null, '', ' \n', 7, 'x'.repeat(4097)]) {
          assert.ok(!matches(with_(field, value)), `${field} ${value}`);
        }
      }
    }
  });
});
