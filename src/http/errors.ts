import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseUnavailable } from '../database/database.ts';
import {
  ApiError,
  badRequest,
  bodyCutOff,
  headersTooLarge,
  internalError,
  invalid,
  isFailure,
  methodNotAllowed,
  notFound,
  payloadTooLarge,
  requestTimeout,
  required,
  serviceUnavailable,
  statusOf,
  unsupportedMediaType,
} from '../errors.ts';
import { BODY_MAX_BYTES } from './json.ts';
import { closeAfterReading } from './limits/unreadBodies.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The error, for the log and the metrics. */
    problem: ApiError | undefined;
  }
}

/** Every error response is sent from here. */
export function handleErrors(app: FastifyInstance): void {
  app.decorateRequest('problem', undefined);
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(error, request, reply));
}

/** Returns undefined if the request is not for a page. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;

/** Unknown path: people get the page of the dashboard that says so, programs get JSON. */
export function handleUnknownPaths(app: FastifyInstance, sendPage: SendPage | undefined): void {
  app.setNotFoundHandler(
    (request, reply) => sendPage?.(request, reply) ?? sendError(notFound(), request, reply),
  );
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // The request itself ended early: the client has disconnected, or was too slow. Nothing here has failed.
  const isCutOff = error === request.raw.errored;
  const problem = isCutOff
    ? bodyCutOff()
    : toApiError(error, request.routeOptions?.bodyLimit ?? BODY_MAX_BYTES);
  request.problem = problem;
  if (isCutOff) request.log.debug({ request_id: request.id, code: problem.code }, 'the body was cut off');
  if (isFailure(problem.code))
    request.log.error({ request_id: request.id, err: problem.cause, code: problem.code }, 'request failed');
  return reply
    .code(statusOf(problem.code, request.routeOptions?.config.area ?? 'general'))
    .headers(problem.headers)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(problem.body()));
}

function toApiError(error: unknown, bodyMaxBytes: number): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseUnavailable) return serviceUnavailable(error);
  const { code, validation } = error as FastifyError;
  if (validation) return fromValidation(validation);
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupportedMediaType();
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return payloadTooLarge(bodyMaxBytes);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return badRequest('The length of the body differs from its Content-Length header.');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return notFound();
    default:
      return internalError(error);
  }
}

/** Reports the first invalid field. */
function fromValidation(errors: NonNullable<FastifyError['validation']>): ApiError {
  // A value may be of one of several types. Then a wrong number has an error for each, and that of the number helps.
  const first = errors.find(({ keyword }) => keyword === 'minimum' || keyword === 'maximum') ?? errors[0];
  if (!first) return invalid('body', 'body is not valid');
  if (first.keyword === 'required') return required(String(first.params.missingProperty));
  const field = fieldOf(first.instancePath);
  if (field === 'body') return invalid(field, 'body must be a JSON object');
  const allowed = first.params.allowedValues;
  if (Array.isArray(allowed)) return invalid(field, `${field} must be one of ${allowed.join(', ')}`);
  if (first.keyword === 'minLength') return invalid(field, `${field} is required`);
  // One of several constants.
  if (first.keyword === 'const' || first.keyword === 'anyOf')
    return invalid(field, `${field} has an unknown value`);
  return invalid(field, `${field} ${first.message}`);
}

/** `/customer/phone` is `customer.phone`. An element of a list is named by its list. */
const fieldOf = (path: string): string =>
  path
    .split('/')
    .slice(1)
    .filter((part) => !/^\d+$/.test(part))
    .join('.') || 'body';

/** Known path, other method: 405. Call it after all routes are registered. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const [url, methods] of routes) {
    const allowed = [...methods].sort();
    // With CORS, its plugin answers OPTIONS.
    const others = app.supportedMethods.filter(
      (method) => !methods.has(method) && !(method === 'OPTIONS' && app.hasRoute({ method, url: '*' })),
    );
    app.route({
      url,
      method: others,
      schema: { hide: true } as object,
      preParsing: async () => {
        throw methodNotAllowed(allowed);
      },
      handler: () => {},
    });
  }
}

/** Answers a request that is not valid HTTP: it never reaches a route. */
export function answerBrokenHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  // The response has been sent. Closing the connection now could lose it.
  if (socket.writableEnded && error.code !== 'ECONNRESET') return;
  // The client has closed the connection in the middle of its request. Hundreds may do so at once.
  const isGone = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE';
  if (isGone || !socket.writable) socket.destroy();
  else if (error.code === 'HPE_HEADER_OVERFLOW') closeAfterReading(socket, HEADERS_TOO_LARGE);
  else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') closeAfterReading(socket, REQUEST_TIMEOUT);
  else closeAfterReading(socket, NOT_HTTP);
}

/** A whole response, for where there is no route or parsed request. */
export function rawResponse(statusLine: string, problem: ApiError): string {
  const body = JSON.stringify(problem.body());
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...problem.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusLine}\r\n${lines.join('')}\r\n${body}`;
}

/** Built once: hundreds of connections may time out in the same moment, while others wait. */
const HEADERS_TOO_LARGE = rawResponse('431 Request Header Fields Too Large', headersTooLarge());
const REQUEST_TIMEOUT = rawResponse('408 Request Timeout', requestTimeout());
const NOT_HTTP = rawResponse('400 Bad Request', badRequest('This is not valid HTTP.'));
