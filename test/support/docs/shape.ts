import assert from 'node:assert/strict';

/** Texts that programs and people look for: a page must quote them exactly. */
const QUOTED = new Set(['message', 'detail', 'code', 'field', 'type']);

/**
 * Fails unless the real value looks like the documented one: the same keys, the same kinds of values, and at least one
 * element where the page shows some. Null means a value that may be absent, so it matches every plain value.
 */
export function assertShape(documented: unknown, real: unknown, path = 'the body'): void {
  if (Array.isArray(documented)) {
    assert.ok(Array.isArray(real), `${path} must be an array`);
    assert.ok(documented.length === 0 || real.length > 0, `${path} must not be empty`);
    for (const [index, element] of real.entries()) {
      const at = `${path}[${index}]`;
      const fits = (one: unknown) => {
        try {
          assertShape(one, element, at);
          return true;
        } catch {
          return false;
        }
      };
      if (!documented.some(fits)) assertShape(documented[0], element, at);
    }
  } else if (isObject(documented)) {
    assert.ok(isObject(real), `${path} must be an object, not ${JSON.stringify(real)}`);
    assert.deepEqual(Object.keys(real).sort(), Object.keys(documented).sort(), `the keys of ${path}`);
    for (const [key, value] of Object.entries(documented)) {
      assertShape(value, real[key], `${path}.${key}`);
      if (QUOTED.has(key)) assert.equal(real[key], value, `${path}.${key}`);
    }
  } else if (documented === null || real === null) {
    assert.ok(!isObject(real) && !Array.isArray(real), `${path} must be a plain value`);
  } else {
    assert.equal(kindOf(real), kindOf(documented), `the kind of ${path}`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const kindOf = (value: unknown) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? 'timestamp' : typeof value;

/** The head and the body of an HTTP message, as a page or `curl -i` shows it. */
export function parseHttp(text: string): { start: string; headers: Map<string, string>; body: string } {
  const [head = '', ...rest] = text.replaceAll('\r\n', '\n').split('\n\n');
  const [start = '', ...lines] = head.split('\n');
  const pairs = lines.map((line) => /^(.*?): *(.*)$/.exec(line)!.slice(1) as [string, string]);
  const headers = new Map(pairs.map(([name, value]) => [name.toLowerCase(), value]));
  return { start, headers, body: rest.join('\n\n').trim() };
}

/** Replaces what differs from message to message: UUIDs, base64 and numbers. */
export const patternOf = (value: string) =>
  value
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'UUID')
    .replace(/[A-Za-z\d+/]{43}=/g, 'BASE64')
    .replace(/\d+/g, 'N');
