interface Response {
  description: string;
  $ref?: string;
}
interface Operation {
  responses: Record<string, Response>;
  requestBody?: { required?: boolean };
  [key: `x-${string}`]: unknown;
}
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: object; responses?: object };
}

export const operationsOf = ({ paths }: ApiDocument) =>
  Object.values(paths).flatMap((path) => Object.values(path));

/**
 * Names the error responses that several routes share, by their codes: without that, the document is twice as large.
 * Responses with the same codes but other examples have numbers, the one with the most uses has none.
 */
export function nameResponses(document: ApiDocument): ApiDocument {
  const uses = new Map<string, Response[]>();
  for (const { responses } of operationsOf(document)) {
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) < 400) continue;
      const key = JSON.stringify([status, response]);
      uses.set(key, [...(uses.get(key) ?? []), response]);
    }
  }
  const named: Record<string, Response> = {};
  const shared = [...uses.values()].filter(({ length }) => length > 1).sort((a, b) => b.length - a.length);
  for (const responses of shared) {
    const [first] = responses;
    const codes = nameOf(first!);
    let name = codes;
    for (let n = 2; named[name]; n += 1) name = `${codes}${n}`;
    named[name] = { ...first! };
    for (const response of responses) replace(response, name);
  }
  return { ...document, components: { ...document.components, responses: named } };
}

/** `INVALID_TOKEN`, `TOKEN_EXPIRED` is InvalidTokenOrTokenExpired. */
const nameOf = ({ description }: Response) =>
  [...description.matchAll(/\w+/g)]
    .map(([code]) => code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase()))
    .join('Or');

function replace(response: Response, name: string): void {
  for (const key of Object.keys(response)) delete response[key as keyof Response];
  response.$ref = `#/components/responses/${name}`;
}
