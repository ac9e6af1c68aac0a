import type { Tool } from '@modelcontextprotocol/server';
import { type TSchema, Type } from 'typebox';
import type { Scope } from '../contract/machineKeys.ts';

/** A request to the API. Every tool is one. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: Record<string, unknown>;
}

type Arguments = Readonly<Record<string, unknown>>;

export interface ToolEntry {
  name: string;
  /** A key with one of these may use it, as at the endpoint that it calls. */
  scopes: readonly Scope[];
  /** Its question may become a task: see tasks.ts. */
  asks?: true;
  title: string;
  description: string;
  annotations: NonNullable<Tool['annotations']>;
  inputSchema: TSchema;
  outputSchema: TSchema;
  request(given: Arguments): ApiRequest;
}

/** Clients time out after 60 s. */
const WAIT_MAX_SECONDS = 45;

const text = (description: string, maxLength = 4096) => Type.String({ description, minLength: 1, maxLength });
const choice = (values: readonly string[], description: string) =>
  Type.Enum([...values], { type: 'string', description });
const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const optional = (properties: Record<string, TSchema>) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)]));

const QUESTION_ID = Type.Integer({
  minimum: 1,
  description: 'The id that ask_merchant, request_human or list_open_questions returned.',
});
const WAIT = (description: string) => Type.Integer({ minimum: 0, maximum: WAIT_MAX_SECONDS, description });

/** What both ways to ask have in common. */
const ASKING = optional({
  conversation_id: Type.Integer({
    minimum: 1,
    description: 'The conversation with the customer. Give this or customer, not both.',
  }),
  customer: Type.Object(
    optional({
      phone: text('Phone number with + and country code.', 64),
      name: text('The name as the merchant should see it.', 255),
      reference: text('Your own id for this customer’s conversation.', 255),
    }),
    {
      description: 'The customer who asks, if you have no conversation_id. A conversation is made if needed.',
    },
  ),
  reference: text('Your own id for this question. Every reply repeats it.', 255),
  metadata: Type.Object(
    {},
    { additionalProperties: true, description: 'Your own data, up to 4 kB as JSON. Every reply repeats it.' },
  ),
  expires_in_seconds: Type.Integer({
    minimum: 1,
    maximum: 2_592_000,
    description: 'When you stop waiting. The merchant can still answer later.',
  }),
  wait_seconds: WAIT(
    'How long to wait for the merchant in this call. The default is 0: returns immediately with the id.',
  ),
  deliver: choice(
    ['deskbell', 'assistant'],
    'Who gives the answer to the customer: Deskbell sends it as a message, or you say it yourself and nothing is sent. The default is the merchant’s setting.',
  ),
});

const CANDIDATES = Type.Array(
  Type.Object({
    document_id: Type.Integer(),
    question: Type.String(),
    answer: Type.String(),
    score: Type.Number({ minimum: 0, maximum: 1, description: 'How well it fits.' }),
    confident: Type.Boolean({ description: 'True: good enough to answer the customer without a person.' }),
  }),
  { description: 'Known answers to similar questions, the best first.' },
);

const QUESTION = {
  id: Type.Integer(),
  notification_id: Type.Integer(),
  conversation_id: nullable(Type.Integer()),
  reference: nullable(Type.String()),
  metadata: nullable(Type.Object({}, { additionalProperties: true })),
  deliver: Type.String(),
  created_at: Type.String(),
  expires_at: nullable(Type.String()),
};

const state = (statuses: readonly string[], description: string, more: Record<string, TSchema> = {}) =>
  Type.Object({
    status: choice(statuses, description),
    ...optional({
      ...QUESTION,
      answer: Type.String({ description: 'The answer for the customer.' }),
      answered_by: nullable(Type.String()),
      answered_at: Type.String(),
      late: Type.Boolean({ description: 'True: it came after the question had expired.' }),
      delivery: nullable(
        Type.Object(
          {},
          { additionalProperties: true, description: 'The message to the customer and its state.' },
        ),
      ),
      resolved_by: nullable(Type.String()),
      resolved_at: Type.String(),
      deleted_at: Type.String(),
      expired_at: Type.String(),
      cancelled_at: Type.String(),
      ...more,
    }),
  });

const ENDED = ['answered', 'resolved', 'deleted', 'expired', 'cancelled'];
const ENDED_MEANING =
  'answered: `answer` is the merchant’s reply. resolved: settled without a reply. deleted: the merchant removed it. expired: nobody answered in time. cancelled: it was withdrawn.';

const ASKED = state(
  ['known', 'asked', ...ENDED],
  `known: \`answer\` was already known, nobody was asked. asked: the merchant has it; call get_answer with \`id\`. ${ENDED_MEANING}`,
  {
    candidates: CANDIDATES,
    duplicate: Type.Boolean({ description: 'True: this customer’s same question was already waiting.' }),
    document_id: nullable(Type.Integer()),
    question: Type.String({ description: 'The known question that `answer` belongs to.' }),
    score: Type.Number(),
  },
);
const STATE = state(
  ['waiting', ...ENDED],
  `waiting: the merchant has not answered yet; call get_answer again. ${ENDED_MEANING}`,
);

const pick = (given: Arguments, names: readonly string[]) =>
  Object.fromEntries(names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]));

const query = (given: Arguments, names: Readonly<Record<string, string>>) => {
  const parameters = new URLSearchParams();
  for (const [name, parameter] of Object.entries(names)) {
    if (given[name] !== undefined) parameters.set(parameter, String(given[name]));
  }
  return parameters.toString();
};

const askPath = ({ id }: Arguments) => `/api/v1/ask/${encodeURIComponent(String(id))}`;

/** In the order in which clients list them. A new tool is one entry here. */
export const TOOLS: readonly ToolEntry[] = [
  {
    name: 'find_answer',
    scopes: ['knowledge:read'],
    title: 'Find a known answer',
    description:
      'Searches the merchant’s knowledge base for answers to a question. Use it first. Nobody is asked or notified. Answer the customer with a candidate only if it really answers the question; otherwise use ask_merchant.',
    annotations: { readOnlyHint: true, openWorldHint: false },
    inputSchema: Type.Object({
      question: text('The question, in the customer’s words.'),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, description: 'The default is 5.' })),
    }),
    outputSchema: Type.Object({ candidates: CANDIDATES }),
    request: (given) => ({
      method: 'GET',
      path: `/api/v1/knowledge/find?${query(given, { question: 'q', limit: 'limit' })}`,
    }),
  },
  {
    name: 'ask_merchant',
    scopes: ['ask'],
    asks: true,
    title: 'Ask the merchant',
    description:
      'Asks the merchant, a person, a question that you cannot answer. If the answer is already known, it is returned and nobody is asked. A person may need minutes or hours: tell the customer that you have asked, and get the answer later with get_answer. Asking the same question for the same customer again raises no second one while the first is waiting.',
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    inputSchema: Type.Object({
      question: text('One complete question that the merchant understands without the conversation.'),
      ...ASKING,
      if_known: Type.Optional(
        choice(
          ['answer', 'raise'],
          'If the answer is already known: return it (answer, the default), or ask the merchant anyway (raise).',
        ),
      ),
    }),
    outputSchema: ASKED,
    request: (given) => ({
      method: 'POST',
      path: '/api/v1/ask',
      body: pick(given, ['question', ...Object.keys(ASKING), 'if_known']),
    }),
  },
  {
    name: 'request_human',
    scopes: ['ask'],
    asks: true,
    title: 'Request a human',
    description:
      'Asks a person of the shop to help this customer: a complaint, a refund, or a customer who wants to talk to a person. For a plain question use ask_merchant. Get the result later with get_answer.',
    annotations: {
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    inputSchema: Type.Object({
      reason: text('What the customer needs, with the facts that a person needs to help.'),
      ...ASKING,
    }),
    outputSchema: ASKED,
    request: (given) => ({
      method: 'POST',
      path: '/api/v1/ask',
      body: {
        support_reason: given.reason,
        ...pick(given, Object.keys(ASKING)),
        // A known answer does not help a customer who needs a person.
        if_known: 'raise',
      },
    }),
  },
  {
    name: 'get_answer',
    scopes: ['ask'],
    title: 'Get the merchant’s answer',
    description:
      'Returns the state of a question, and the answer once the merchant has written it. It waits for the answer up to wait_seconds. If it is still waiting, go on with something else and call it again later.',
    annotations: { readOnlyHint: true, openWorldHint: true },
    inputSchema: Type.Object({
      id: QUESTION_ID,
      wait_seconds: Type.Optional(WAIT('How long to wait for the answer. The default is 0.')),
    }),
    outputSchema: STATE,
    request: (given) => ({
      method: 'GET',
      path: `${askPath(given)}?${query(given, { wait_seconds: 'wait' })}`,
    }),
  },
  {
    name: 'cancel_question',
    scopes: ['ask'],
    title: 'Cancel a question',
    description:
      'Withdraws a question that the merchant has not answered, for example because the customer no longer needs it. The merchant sees that you withdrew it.',
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    inputSchema: Type.Object({ id: QUESTION_ID }),
    outputSchema: STATE,
    request: (given) => ({ method: 'DELETE', path: askPath(given) }),
  },
  {
    name: 'list_open_questions',
    scopes: ['ask'],
    title: 'List open questions',
    description: 'Lists the questions that still wait for the merchant, the newest first.',
    annotations: { readOnlyHint: true, openWorldHint: false },
    inputSchema: Type.Object(
      optional({
        limit: Type.Integer({ minimum: 1, maximum: 100, description: 'How many at most.' }),
        cursor: text('next_cursor of the page before.', 255),
      }),
    ),
    outputSchema: Type.Object({
      asks: Type.Array(
        Type.Object({
          status: Type.Literal('waiting'),
          question: Type.String(),
          ...optional(QUESTION),
        }),
      ),
      next_cursor: nullable(Type.String({ description: 'There are more: call again with it as cursor.' })),
    }),
    request: (given) => ({
      method: 'GET',
      path: `/api/v1/ask?${new URLSearchParams({ status: 'waiting' })}&${query(given, { limit: 'limit', cursor: 'cursor' })}`,
    }),
  },
];
