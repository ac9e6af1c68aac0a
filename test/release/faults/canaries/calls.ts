import { readFileSync } from 'node:fs';
import { AURORA, type CallOptions, NOTIFICATIONS } from '../../../support/server.ts';

/** Markers for confidential data. They must not appear in logs, metrics or errors. */
export const CANARY = 'c4n4ry';
/** With one more digit it is a possible number; anything else would not be sent. */
export const PHONE = '+3469990001';
export const phone = (lastDigit: number) => `${PHONE}${lastDigit}`;

export type Call = [method: string, path: string, options: CallOptions];

export function callsByHand(
  { access_token: token, refresh_token }: { access_token: string; refresh_token: string },
  title: string,
): Call[] {
  const AUTH = '/api/v1/auth';
  const text = `${CANARY} ${title}`;
  const question = (context: object, rest = {}): CallOptions => ({
    token,
    body: { notification_type: 'user_question_request', conversation_id: 1, context, ...rest },
  });
  const known = question({ question: text, lead_phone: phone(9), [CANARY]: { [CANARY]: text } });
  const calls: Call[] = [
    ['POST', `${AUTH}/login?${CANARY}=${CANARY}`, { body: AURORA }],
    ['POST', `${AUTH}/login`, { body: { email: `${CANARY}@x.example`, password: CANARY } }],
    ['POST', `${AUTH}/login`, { body: { email: AURORA.email, password: CANARY } }],
    ['POST', `${AUTH}/login`, { body: { email: [CANARY], password: { [CANARY]: CANARY } } }],
    ['POST', `${AUTH}/login`, { body: { [CANARY]: CANARY } }],
    ['POST', `${AUTH}/login`, { body: `{"email":"${CANARY}` }],
    ['POST', `${AUTH}/login`, { body: CANARY, headers: { 'content-type': `text/${CANARY}` } }],
    ['POST', `${AUTH}/login`, { body: CANARY.repeat(60_000) }],
    ['POST', `${AUTH}/refresh`, { body: { refresh_token } }],
    ['POST', `${AUTH}/refresh`, { body: { refresh_token: CANARY } }],
    ['POST', `${AUTH}/refresh`, { body: { refresh_token: token } }],
    ['POST', `${AUTH}/logout`, { body: { refresh_token: `${refresh_token}${CANARY}` } }],
    ['GET', `${AUTH}/me`, { token }],
    ['GET', `${AUTH}/me`, { token: CANARY }],
    ['GET', `${AUTH}/me`, { headers: { authorization: `Basic ${CANARY}` } }],
    ['GET', `${NOTIFICATIONS}/?${CANARY}=${CANARY}`, { token }],
    ...['status', 'notification_types', 'cursor', 'limit'].map(
      (name): Call => ['GET', `${NOTIFICATIONS}/?${name}=${CANARY}`, { token }],
    ),
    ['GET', `${NOTIFICATIONS}/${CANARY}`, { token }],
    ['GET', `${NOTIFICATIONS}/4`, { token }],
    ['POST', `${NOTIFICATIONS}/request`, known],
    ['POST', `${NOTIFICATIONS}/request`, known],
    [
      'POST',
      `${NOTIFICATIONS}/request`,
      { ...known, headers: { 'idempotency-key': `${CANARY}-${title.length}` } },
    ],
    ['POST', `${NOTIFICATIONS}/request`, { ...known, headers: { 'idempotency-key': `${CANARY} ${CANARY}` } }],
    ['POST', `${NOTIFICATIONS}/request`, question({ question: text }, { notification_type: CANARY })],
    ['POST', `${NOTIFICATIONS}/request`, question({ question: text }, { conversation_id: CANARY })],
    ['POST', `${NOTIFICATIONS}/request`, question({ question: text, document_id: CANARY })],
    ['POST', `${NOTIFICATIONS}/request`, question({ lead_phone: phone(9), [CANARY]: CANARY })],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { answer: text.repeat(1000) } }],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { answer: { [CANARY]: CANARY } } }],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { resolve_only: CANARY } }],
    ['POST', `${NOTIFICATIONS}/4/answer`, { token, body: { answer: text } }],
    ['POST', `${NOTIFICATIONS}/8/answer`, { token, body: { agent_response_to_customer: text } }],
    [
      'POST',
      `${NOTIFICATIONS}/8/answer`,
      { token, body: { agent_response_to_customer: text, resolution_notes: text } },
    ],
    ['POST', `${NOTIFICATIONS}/${CANARY}/answer`, { token, body: { answer: text } }],
    ['DELETE', `${NOTIFICATIONS}/${CANARY}?${CANARY}`, { token }],
    ['PUT', `${NOTIFICATIONS}/${CANARY}`, { token, body: { [CANARY]: CANARY } }],
    ['GET', `/${CANARY}`, {}],
    ['OPTIONS', `/${CANARY}`, {}],
    ['GET', `/readyz?${CANARY}`, {}],
  ];
  return calls.map(marked);
}

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
}
interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
const document: { paths: Record<string, Record<string, Operation>> } = JSON.parse(
  readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8'),
);

/** Every operation of the OpenAPI document, with its route as the log writes it. */
export const OPERATIONS = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    route: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    operation,
  })),
);

/** Puts canaries everywhere the document allows: path, query, headers and members, with and without a token. */
export function callsByDocument(token: string, title: string): Call[] {
  // The event stream does not end, so it is only called with invalid tokens.
  return OPERATIONS.flatMap(({ method, path, operation }) => {
    const { parameters = [], requestBody } = operation;
    const namesIn = (place: string) => parameters.filter((it) => it.in === place).map(({ name }) => name);
    const at = (id: string) => path.replaceAll(/\{\w+\}/g, id);
    const isStream = path.endsWith('/events');
    const headers = Object.fromEntries(namesIn('header').map((name) => [name, CANARY]));
    const schema = requestBody?.content['application/json']?.schema;
    const withBody = (body: unknown): CallOptions => (schema ? { token, body, headers } : { token, headers });
    const known = schema ? valueFor(schema, `${CANARY} ${title}`) : undefined;
    return [
      [method, at(CANARY), { ...withBody(known), token: isStream ? CANARY : token }],
      [method, at('5'), { ...withBody(known), token: isStream ? `${token}${CANARY}` : token }],
      [method, `${at('5')}?${CANARY}=${CANARY}`, { ...withBody(known), token: CANARY }],
      ...namesIn('query').map((name): Call => [method, `${at('5')}?${name}=${CANARY}`, { token }]),
      ...Object.keys(schema?.properties ?? {}).map(
        (name): Call => [method, at('5'), withBody({ ...(known as object), [name]: { [CANARY]: [CANARY] } })],
      ),
      ...(schema ? [[method, at('5'), withBody(`{"${CANARY}":"${CANARY}`)] as Call] : []),
    ] satisfies Call[];
  }).map(marked);
}

function valueFor({ type, properties = {} }: Schema, text: string): unknown {
  switch (type) {
    case 'object':
      return {
        ...Object.fromEntries(
          Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, text)]),
        ),
        [CANARY]: text,
      };
    case 'integer':
      return 1;
    case 'boolean':
      return false;
    default:
      return text;
  }
}

const MARKED = {
  'user-agent': CANARY,
  cookie: `session=${CANARY}`,
  referer: `https://x.example/?${CANARY}`,
  'x-forwarded-for': CANARY,
  'x-request-id': `${CANARY} and more`,
  [`x-${CANARY}`]: CANARY,
};

const marked = ([method, path, options]: Call): Call => [
  method,
  path,
  { ...options, headers: { ...MARKED, ...options.headers } },
];
