import { readFileSync } from 'node:fs';
import { AURORA, type CallOptions, NOTIFICATIONS } from '../../../support/server.ts';

/** Markers for confidential data. They must not appear in logs, metrics or errors. */
export const CANARY = 'c4n4ry';
export const PHONE = '+34699900019';

export type Call = [method: string, path: string, options: CallOptions];

/** What the document does not describe: wrong passwords and tokens, broken bodies, unknown paths, and real writes. */
export function callsByHand(token: string, title: string): Call[] {
  const AUTH = '/api/v1/auth';
  const text = `${CANARY} ${title}`;
  const post = (path: string, body: unknown, headers = {}): Call => ['POST', path, { token, body, headers }];
  const question = {
    notification_type: 'user_question_request',
    conversation_id: 1,
    context: { question: text, lead_phone: PHONE, [CANARY]: { [CANARY]: text } },
  };
  const calls: Call[] = [
    post(`${AUTH}/login?${CANARY}=${CANARY}`, AURORA),
    post(`${AUTH}/login`, { email: `${CANARY}@x.example`, password: CANARY }),
    post(`${AUTH}/login`, { email: AURORA.email, password: CANARY }),
    post(`${AUTH}/login`, `{"email":"${CANARY}`),
    post(`${AUTH}/login`, CANARY, { 'content-type': `text/${CANARY}` }),
    post(`${AUTH}/login`, CANARY.repeat(60_000)),
    post(`${AUTH}/refresh`, { refresh_token: token }),
    ['GET', `${AUTH}/me`, { headers: { authorization: `Basic ${CANARY}` } }],
    post(`${NOTIFICATIONS}/request`, question, { 'idempotency-key': `${CANARY}-${title.length}` }),
    post(`${NOTIFICATIONS}/request`, question, { 'idempotency-key': `${CANARY} ${CANARY}` }),
    post(`${NOTIFICATIONS}/4/answer`, { answer: text.repeat(1000) }),
    post(`${NOTIFICATIONS}/4/answer`, { answer: text }),
    post(`${NOTIFICATIONS}/8/answer`, { agent_response_to_customer: text, resolution_notes: text }),
    ['PUT', `${NOTIFICATIONS}/${CANARY}`, { token, body: { [CANARY]: CANARY } }],
    ['GET', `/${CANARY}`, {}],
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
    case 'object': {
      const members = Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, text)]);
      return { ...Object.fromEntries(members), [CANARY]: text };
    }
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
