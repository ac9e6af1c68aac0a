/** What tests read in the API document. */

export interface Media {
  schema?: { examples?: unknown[]; $ref?: string };
  example?: unknown;
  examples?: Record<string, { value: { code: string; detail: string } }>;
}

interface Response {
  description: string;
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, Media>;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: object[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response>;
}

// biome-ignore lint/suspicious/noExplicitAny: the document has many shapes
export type ApiDocument = any;

/** What a reference leads to, such as `#/components/responses/RateLimited`. */
export const resolve = <T extends object>(document: ApiDocument, value: T & { $ref?: string }): T =>
  value.$ref === undefined
    ? value
    : value.$ref
        .slice('#/'.length)
        .split('/')
        .reduce((one, key) => one[key], document);

/** Each with its method and path, and with its responses instead of references to them. */
export function operationsOf(document: ApiDocument): [name: string, Operation][] {
  return Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, one]): [string, Operation] => {
        const responses = Object.entries(one.responses).map(([status, response]) => [
          status,
          resolve(document, response),
        ]);
        return [`${method} ${path}`, { ...one, responses: Object.fromEntries(responses) }];
      }),
  );
}
