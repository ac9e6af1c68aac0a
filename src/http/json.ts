import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { contentEncoded, invalid } from '../errors.ts';

export const BODY_MAX_BYTES = 256 * 1024;
const DEPTH_MAX = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** The text of the body. `rawMember` finds a value in it exactly as it was sent. */
    bodyText: string;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Accepts JSON bodies only. `__proto__` is an ordinary key: JSON.parse makes it an own property, and nothing here
 * copies properties by assignment.
 */
export function acceptJson(app: FastifyInstance): void {
  app.decorateRequest('bodyText', '');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/([\w.+-]+\+)?json(;|$)/,
    { parseAs: 'buffer', bodyLimit: BODY_MAX_BYTES },
    (request: FastifyRequest, body: Buffer, done) => {
      try {
        const encoding = request.headers['content-encoding'];
        if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw contentEncoded();
        request.bodyText = decode(body);
        done(null, request.bodyText.trim() === '' ? {} : parse(request.bodyText));
      } catch (error) {
        done(error as Error);
      }
    },
  );
  // A missing body counts as an empty one, no matter what the headers say.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.method === 'POST') request.body = {};
    done();
  });
}

function decode(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw invalid('body', 'body is not valid UTF-8');
  }
}

/** Check the depth before parsing: a deeply nested text costs the parser more than this loop. */
export function isDeeperThan(text: string, depthMax: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at) - 1;
    } else if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) {
      depth -= 1;
    }
  }
  return false;
}

function parse(text: string): unknown {
  if (isDeeperThan(text, DEPTH_MAX)) {
    throw invalid('body', `body is nested deeper than ${DEPTH_MAX} levels`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('body', 'body is not valid JSON');
  }
}

/** The text of a member's value in valid JSON. If a name repeats, the last one counts, as in JSON.parse. */
export function rawMember(objectText: string, name: string): string | undefined {
  let found: string | undefined;
  let at = objectText.indexOf('{') + 1;
  while (at < objectText.length) {
    const keyStart = objectText.indexOf('"', at);
    if (keyStart === -1) break;
    const keyEnd = endOfString(objectText, keyStart);
    const valueStart = objectText.indexOf(':', keyEnd) + 1;
    const valueEnd = endOfValue(objectText, valueStart);
    if (JSON.parse(objectText.slice(keyStart, keyEnd)) === name) {
      found = objectText.slice(valueStart, valueEnd).trim();
    }
    at = valueEnd + 1;
  }
  return found;
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;

/** The position after the closing quote, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === BACKSLASH) at += 1;
    else if (char === QUOTE) return at + 1;
  }
  return text.length;
}

/** The position of the comma or bracket that ends the value. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at) - 1;
    } else if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
      depth += 1;
    } else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) {
      if (depth === 0) return at;
      depth -= 1;
    } else if (char === COMMA && depth === 0) {
      return at;
    }
  }
  return text.length;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends a text that is JSON already. It does not pass the serializer, which is slow for unions. */
export const sendJson = (reply: FastifyReply, text: string): never =>
  reply.type(JSON_TYPE).send(text) as never;
