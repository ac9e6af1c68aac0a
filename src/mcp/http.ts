import { createMcpHandler } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { internalError } from '../errors.ts';
import type { Call } from './call.ts';
import { createServer } from './server.ts';

/** The headers that the protocol uses. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** Answers one request of a client, of 2026 or of 2025. Nothing is kept between requests. */
export async function answerClient(
  request: FastifyRequest,
  reply: FastifyReply,
  scopes: ReadonlySet<string>,
): Promise<Response> {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  let failure: unknown;
  const handler = createMcpHandler(
    (context) => createServer(callFor(request, gone.signal), scopes, context),
    {
      // The tools of a key do not change, so there is nothing to subscribe to.
      maxSubscriptions: 0,
      onerror: (error) => {
        failure = error;
      },
    },
  );
  const response = await handler.fetch(
    new Request('http://deskbell/mcp', { method: 'POST', headers: headersOf(request), signal: gone.signal }),
    { parsedBody: request.body },
  );
  if (response.status >= 500) throw internalError(failure);
  return response;
}

function headersOf({ headers }: FastifyRequest): Headers {
  const given = new Headers();
  for (const name of HEADERS) if (headers[name] !== undefined) given.set(name, String(headers[name]));
  return given;
}

/** Calls the API in this process, as the same caller from the same address. Nobody gets the result of a gone client. */
const callFor =
  ({ server, headers: { authorization = '', host = '' }, ip, id }: FastifyRequest, gone: AbortSignal): Call =>
  async ({ method, path, body }, signal) => {
    const { statusCode, payload } = await server.inject({
      method,
      url: path,
      remoteAddress: ip,
      headers: { authorization, host, 'x-request-id': id },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([signal, gone]),
    });
    return { status: statusCode, body: JSON.parse(payload) };
  };
