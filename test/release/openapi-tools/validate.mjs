/**
 * Gives every recorded call to Prism's validating proxy and prints what does not match the API document. A request only
 * counts if the server accepted it, because many tests send invalid ones.
 *
 *   node validate.mjs <folder with recorded calls>
 */
import { globSync, readFileSync } from 'node:fs';
import { parse } from 'node:querystring';
import { createInstance, getHttpOperationsFromSpec } from '@stoplight/prism-http';
import * as TaskEither from 'fp-ts/lib/TaskEither.js';

const file = new URL('../../../openapi.json', import.meta.url).pathname;
const { paths } = JSON.parse(readFileSync(file, 'utf8'));
const operations = await getHttpOperationsFromSpec(file);
const config = {
  isProxy: true,
  upstream: new URL('http://localhost'),
  validateRequest: true,
  validateResponse: true,
  checkSecurity: true,
  errors: false,
};
const logger = { info() {}, child: () => logger };
/** What the server answered to the current call. */
let recorded;
const prism = createInstance(config, { logger, forward: () => () => TaskEither.right(recorded) });

const calls = globSync(`${process.argv[2]}/*.jsonl`).flatMap((name) =>
  readFileSync(name, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line)),
);
const mismatches = new Map();
let checked = 0;
for (const call of new Map(calls.map((one) => [withoutValues(one), one])).values()) {
  const problems = await check(call);
  if (!problems) continue;
  checked += 1;
  for (const problem of [...problems, ...wrongExample(call)]) {
    const line = `${call.method} ${pathOf(call).replace(/\/\d+/g, '/N')} ${call.status}: ${problem}`;
    if (!mismatches.has(line)) mismatches.set(line, call);
  }
}
for (const [line, { path, requestBody = '', body }] of mismatches) {
  console.log(`${line}\n  ${path} ${requestBody.slice(0, 300)}\n  ${body.slice(0, 300)}`);
}
console.log(`${checked} kinds of ${calls.length} calls checked, ${mismatches.size} kinds of mismatches`);
process.exitCode = mismatches.size === 0 && checked > 0 ? 0 : 1;

/** Undefined if the document does not have this path with this method, or if Prism cannot read the path. */
async function check({ method, path, requestHeaders, requestBody, status, headers, body }) {
  if (!isDecodable(path)) return undefined;
  recorded = { statusCode: status, headers, body: parsed(body) };
  const { pathname, searchParams } = new URL(path, 'http://localhost');
  const request = {
    method: method.toLowerCase(),
    url: { path: pathname, query: parse(searchParams.toString()) },
    headers: Object.fromEntries(
      Object.entries(requestHeaders).map(([name, value]) => [
        name.toLowerCase(),
        // Case does not matter in HTTP, but it does in Prism.
        value.replace(/^bearer +/i, 'Bearer '),
      ]),
    ),
    body: parsed(requestBody),
  };
  const { right, left } = await prism.request(request, operations, config)();
  if (!right) throw left;
  const { input, output } = right.validations;
  if (input.some(({ message }) => message === 'Selected route not found')) return undefined;
  return [...(status < 300 ? input : []), ...output].map(({ message }) => message.split('\n')[0]);
}

/** The texts of a write are few, so the document has them all. */
function wrongExample(call) {
  const { message, ...others } = parsed(call.body) ?? {};
  if (call.status !== 200 || message === undefined || Object.keys(others).length > 0) return [];
  const pattern = (path) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
  const method = call.method.toLowerCase();
  const [, item] = Object.entries(paths).find(
    ([path, item]) => item[method] && pattern(path).test(pathOf(call)),
  );
  const { example, examples = {} } = item[method].responses[200].content['application/json'];
  const texts = [example, ...Object.values(examples).map(({ value }) => value)].map((one) => one?.message);
  // The time in a text is another one.
  const withoutTime = (text) => text?.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME');
  return texts.map(withoutTime).includes(withoutTime(message))
    ? []
    : [`the document has no example with "${message}"`];
}

/** The same for calls that differ only in numbers, times, tokens and other random values. One of them is checked. */
function withoutValues({ method, path, requestHeaders, requestBody, status, headers, body }) {
  const names = [Object.keys(requestHeaders), Object.keys(headers), headers['content-type']];
  return JSON.stringify([method, path, status, names, requestBody, body]).replace(
    /[\w.-]{20,}|\d+/g,
    (value) => (/\d/.test(value) ? '0' : value),
  );
}

function pathOf({ path }) {
  return path.split('?', 1)[0];
}

function isDecodable(path) {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text || undefined;
  }
}
