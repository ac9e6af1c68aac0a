import type { Tool } from '@modelcontextprotocol/server';
import { type TSchema, Type } from 'typebox';
import { AskBody, AskQuery, AskReply, AskState, OpenAsks, OpenAsksQuery } from '../contract/asks.ts';
import { FindQuery, FoundCandidates } from '../contract/find.ts';
import type { Scope } from '../contract/machineKeys.ts';
import { field, oneObject, optionalField, withoutExamples } from './schemas.ts';

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
  /** Fields of the API that have another name here. Its errors name them. */
  renamed?: Readonly<Record<string, string>>;
  request(given: Arguments): ApiRequest;
}

const { conversation_id, customer, reference, metadata, expires_in_seconds, ...rest } = AskBody.properties;
const { question, support_reason, if_known, deliver } = rest;
/** What both ways to ask have in common. Neither waits: get_answer does. */
const ASKING = {
  conversation_id: optionalField(conversation_id, {
    description: 'The conversation with the customer. Give this or customer, not both.',
  }),
  customer: optionalField(customer, {
    description:
      'Who asks. Give this or conversation_id, not both: the conversation is found or created. phone is required if Deskbell sends the answer, which is the default; see deliver. If the conversation already has a number, another phone is refused.',
  }),
  reference,
  // Some models do not understand patterns, or an enum without a type.
  metadata: optionalField(metadata, { patternProperties: undefined }),
  expires_in_seconds,
  deliver: optionalField(deliver, {
    type: 'string',
    description:
      'Who tells the customer the answer. deskbell: Deskbell sends it to the customer’s phone, so do not repeat it. assistant: Deskbell sends nothing, you tell the customer. The default is the merchant’s setting, usually deskbell; the result shows it.',
  }),
};

/** Of the result of a tool that asks. */
const WHILE_WAITING =
  'Meanwhile say `waiting_message` to the customer, if it is not null; `opens_at`, if it is not null, is when the shop opens again. If `taken_over` is not null, a person speaks to this customer: say nothing to the customer.';

const ASKS_A_PERSON = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
};

const QUESTION_ID = Type.Integer({
  minimum: 1,
  description: 'The id that ask_merchant, request_human or list_open_questions returned.',
});

const ENDED =
  'answered: `answer` is the merchant’s reply. resolved: the merchant closed it without a reply. deleted: the merchant deleted it. expired: nobody answered in time. cancelled: it was cancelled.';
const ASKED = oneObject(
  AskReply,
  `known: \`answer\` was already known, nobody was asked. asked: the merchant has it; call get_answer with \`id\`. ${ENDED}`,
);
const STATE = oneObject(
  AskState,
  `waiting: the merchant has not answered yet; call get_answer again later. ${ENDED}`,
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
      question: field(FindQuery.properties.q, { description: 'The question, in the customer’s words.' }),
      limit: optionalField(FindQuery.properties.limit, {
        description: 'How many candidates at most. The default is 5.',
      }),
    }),
    outputSchema: withoutExamples(FoundCandidates),
    renamed: { q: 'question' },
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
      'Asks the merchant, a person, a question that you cannot answer. If the answer is already known, it is returned and nobody is asked. A person may need minutes or hours: tell the customer that you have asked, and get the answer later with get_answer. ' +
      WHILE_WAITING +
      ' While a question is waiting, asking it again for the same customer returns the same question. `deliver` in the result says who tells the customer the answer: with deskbell it is sent to the customer for you, with assistant you tell the customer.',
    annotations: ASKS_A_PERSON,
    inputSchema: Type.Object({
      question: field(question, {
        description: 'One complete question that the merchant understands without the conversation.',
      }),
      ...ASKING,
      if_known: optionalField(if_known, { type: 'string' }),
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
      'Asks a person at the shop to help this customer: a complaint, a refund, or a customer who wants to talk to a person. For a plain question use ask_merchant. Get the result later with get_answer. `deliver` in the result says who tells the customer the reply, as for ask_merchant. ' +
      WHILE_WAITING,
    annotations: ASKS_A_PERSON,
    inputSchema: Type.Object({
      reason: field(support_reason, {
        description: 'What the customer needs, with the facts that a person needs to help.',
      }),
      ...ASKING,
    }),
    outputSchema: ASKED,
    renamed: { question: 'reason', support_reason: 'reason' },
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
      'Returns the state of a question, and the answer once the merchant has written it. It waits for the answer up to wait_seconds. If the question is still waiting, continue with something else and call get_answer again later. If `deliver` in the result is deskbell, Deskbell sends the answer to the customer: do not repeat it. If it is assistant, tell the customer the answer yourself.',
    annotations: { readOnlyHint: true, openWorldHint: true },
    inputSchema: Type.Object({
      id: QUESTION_ID,
      wait_seconds: AskQuery.properties.wait,
    }),
    outputSchema: STATE,
    renamed: { wait: 'wait_seconds' },
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
      'Cancels a question that the merchant has not answered, for example because the customer no longer needs it. The merchant sees that you cancelled it.',
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
    description: 'Lists the questions that are waiting for the merchant, newest first.',
    annotations: { readOnlyHint: true, openWorldHint: false },
    inputSchema: Type.Object({
      limit: optionalField(OpenAsksQuery.properties.limit, { description: 'How many at most.' }),
      cursor: OpenAsksQuery.properties.cursor,
    }),
    outputSchema: withoutExamples(OpenAsks),
    request: (given) => ({
      method: 'GET',
      path: `/api/v1/ask?${new URLSearchParams({ status: 'waiting' })}&${query(given, { limit: 'limit', cursor: 'cursor' })}`,
    }),
  },
];
