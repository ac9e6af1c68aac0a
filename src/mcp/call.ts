import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ApiRequest } from './tools.ts';

/** Calls the API with the caller's own key: authentication, scopes, limits and validation are those of the API. */
export type Call = (request: ApiRequest, signal: AbortSignal) => Promise<Reply>;

export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

/** A refused request is a result that the model can read and act on. */
export function resultOf({ status, body }: Reply): CallToolResult {
  const result = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
  if (status >= 400) return { ...result(`${body.detail} (${body.code})`), isError: true };
  return { ...result(JSON.stringify(body)), structuredContent: body };
}
