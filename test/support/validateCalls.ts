import { globSync, readFileSync } from 'node:fs';
import { parse } from 'node:querystring';
import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import { type ApiDocument, type Media, type Operation, operationsOf, resolve } from './openapiDocument.ts';
import type { RecordedCall } from './recordCall.ts';

/** Compares the calls that the tests made with the API document. */

/** A recorded call, as it was written to a file. */
export type Call = Omit<RecordedCall, 'headers'> & { headers: Record<string, string> };

/** A parameter of a request, or a header of a response. */
interface Field {
  name: string;
  in: string;
  required?: boolean;
  schema: { type?: string };
}

const isTime = (pattern: RegExp) => (text: string) => pattern.test(text) && !Number.isNaN(Date.parse(text));
const OPTIONS: Options = {
  strict: false,
  validateSchema: false,
  formats: {
    date: isTime(/^\d{4}-\d\d-\d\d$/),
    'date-time': isTime(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/),
  },
};

/** Returns a report with each problem once and the first call that has it, or undefined if there is none. */
export function reportProblems(document: ApiDocument, calls: Iterable<Call>): string | undefined {
  const check = createCheck(document);
  const problems = new Map<string, Call>();
  let checked = 0;
  for (const call of calls) {
    const found = check(call);
    if (found) checked += 1;
    for (const problem of found ?? []) {
      const line = `${call.method} ${pathOf(call).replace(/\/\d+/g, '/N')} ${call.status}: ${problem}`;
      if (!problems.has(line)) problems.set(line, call);
    }
  }
  if (checked > 0 && problems.size === 0) return undefined;
  const lines = [...problems].map(
    ([line, { path, requestBody = '', body }]) =>
      `${line}\n  ${path} ${requestBody.slice(0, 300)}\n  ${body.slice(0, 300)}`,
  );
  return [...lines, `${checked} calls checked, ${problems.size} kinds of problems`].join('\n');
}

export function* readCalls(folder: string): Generator<Call> {
  for (const name of globSync(`${folder}/*.jsonl`))
    for (const line of readFileSync(name, 'utf8').trimEnd().split('\n')) yield JSON.parse(line);
}

/** Returns the problems of a call, or undefined if the document does not have its path and method. */
function createCheck(document: ApiDocument): (call: Call) => string[] | undefined {
  const link = <T>(schema: T): T => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
  const [json, texts] = [new Ajv2020(OPTIONS), new Ajv2020({ ...OPTIONS, coerceTypes: 'array' })];
  const compiled = new Map<object, ValidateFunction>();
  for (const ajv of [json, texts]) ajv.addSchema(link({ components: document.components }), 'api');

  function problemsOf(what: string, schema: object, value: unknown, ajv = json): string[] {
    const matches = compiled.get(schema) ?? ajv.compile(link(schema));
    compiled.set(schema, matches);
    if (matches(value)) return [];
    return matches.errors!.map(
      ({ instancePath, message }) => `${what}${instancePath.replace(/\d+/g, 'N')} ${message}`,
    );
  }

  /** Fields are texts, which may be numbers or lists. */
  function problemsOfFields(
    what: string,
    fields: readonly Field[],
    given: Record<string, unknown>,
  ): string[] {
    return fields.flatMap(({ name, required, schema }) => {
      const value = given[name];
      if (value === undefined) return required ? [`${what} ${name} is missing`] : [];
      // A list may be repeated, and each may have several with commas, or none.
      const values =
        schema.type === 'array'
          ? [value].flat().flatMap((text) => String(text).split(',').filter(Boolean))
          : value;
      // In a list, because a text alone cannot be replaced by its number.
      const one = [values];
      const list = lists.get(schema) ?? { items: schema };
      lists.set(schema, list);
      return problemsOf(`${what} ${name}`, list, one, texts);
    });
  }
  const lists = new Map<object, object>();

  /** Only of an accepted request, because many tests send invalid ones. */
  function problemsOfRequest({ security, parameters = [], requestBody }: Operation, call: Call): string[] {
    const headers = lowerCased(call.requestHeaders);
    const query = parse(call.path.split('?')[1] ?? '');
    const fields = (where: string) => (parameters as Field[]).filter((one) => one.in === where);
    const hasToken = security.length === 0 || /^bearer \S/i.test(headers.authorization ?? '');
    const media = requestBody?.content['application/json'];
    return [
      ...(hasToken ? [] : ['the request has no token']),
      ...problemsOfFields('query', fields('query'), query),
      ...problemsOfFields('header', fields('header'), headers),
      ...(media?.schema && call.requestBody
        ? problemsOf('request', media.schema, parsed(call.requestBody))
        : []),
    ];
  }

  function problemsOfResponse(operation: Operation, call: Call): string[] {
    const response = operation.responses[call.status];
    if (!response) return ['the status is not documented'];
    const given = lowerCased(call.headers);
    const fields = Object.entries(response.headers ?? {}).map(([name, header]) => ({
      ...resolve(document, header as object as Field),
      name: name.toLowerCase(),
    }));
    const problems = problemsOfFields('response header', fields, given);
    if (call.body === '') return problems;
    const type = given['content-type']?.split(';')[0] ?? 'none';
    const media = response.content?.[type];
    if (!media) return [...problems, `the content type ${type} is not documented`];
    const isJson = type.endsWith('/json');
    const value = isJson ? parsed(call.body) : call.body;
    if (media.schema) problems.push(...problemsOf('response', media.schema, value));
    return isJson ? [...problems, ...wrongExample(media, call.status, value)] : problems;
  }

  const routes = operationsOf(document).map(([name, operation]) => {
    const [method = '', path = ''] = name.split(' ');
    return {
      method: method.toUpperCase(),
      pattern: patternOf(path),
      variables: path.split('{').length,
      operation,
    };
  });
  // A fixed part is preferred to a variable one.
  routes.sort((a, b) => a.variables - b.variables);

  return (call) => {
    const path = pathOf(call);
    const route = routes.find(({ method, pattern }) => method === call.method && pattern.test(path));
    if (!route) return undefined;
    const ofRequest = call.status < 300 ? problemsOfRequest(route.operation, call) : [];
    return [...ofRequest, ...problemsOfResponse(route.operation, call)];
  };
}

/** The codes of errors and the messages of writes are few, so the document has them all. */
function wrongExample({ example, examples = {} }: Media, status: number, value: unknown): string[] {
  const { message, code, ...others } = (value ?? {}) as Record<string, unknown>;
  const all = [example, ...Object.values(examples).map((one) => one.value)] as Record<string, unknown>[];
  // The time in a message is another one.
  const withoutTime = (text: unknown) => String(text).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME');
  if (status === 200 && typeof message === 'string' && Object.keys(others).length === 0)
    return all.some((one) => withoutTime(one?.message) === withoutTime(message))
      ? []
      : [`the document has no example with "${message}"`];
  if (status < 400 || all.some((one) => one?.code === code)) return [];
  return [`the document has no example with ${code}`];
}

const patternOf = (path: string) =>
  new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);

const pathOf = ({ path }: Call) => path.split('?', 1)[0]!;

const lowerCased = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
