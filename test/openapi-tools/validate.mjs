/**
 * Gives every recorded call to Prism's validating proxy and prints what does not match the API document. A request only
 * counts if the server accepted it: many tests send invalid ones.
 *
 *   node validate.mjs <folder with recorded calls>
 */
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parse } from 'node:querystring';
import { createInstance, getHttpOperationsFromSpec } from '@stoplight/prism-http';

// The package's own version, because a task must be of the same kind.
const TaskEither = createRequire(import.meta.resolve('@stoplight/prism-http'))('fp-ts/TaskEither');

const document = new URL('../../openapi.json', import.meta.url).pathname;
const operations = await getHttpOperationsFromSpec(document);
const quiet = () => {};
const logger = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  success: quiet,
  child: () => logger,
};
const config = {
  isProxy: true,
  upstream: new URL('http://localhost'),
  validateRequest: true,
  validateResponse: true,
  checkSecurity: true,
  errors: false,
  mock: { dynamic: false },
};

const calls = globSync(`${process.argv[2]}/*.jsonl`).flatMap((file) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line)),
);
const mismatches = new Map();
let checked = 0;
for (const call of calls) {
  const result = await check(call);
  if (!result) continue;
  checked += 1;
  for (const problem of result) {
    const [line] =
      `${call.method} ${call.path.split('?')[0].replace(/\d+/g, 'N')} ${call.status}: ${problem}`.split('\n');
    if (!mismatches.has(line)) mismatches.set(line, call);
  }
}
for (const [line, { path, requestBody = '', body }] of mismatches) {
  console.log(`${line}\n  ${path} ${requestBody.slice(0, 200)}\n  ${body.slice(0, 300)}`);
}
console.log(`${checked} of ${calls.length} calls checked, ${mismatches.size} kinds of mismatches`);
process.exitCode = mismatches.size === 0 && checked > 0 ? 0 : 1;

/** Undefined if the document has no such path or method. */
async function check({ method, path, requestHeaders, requestBody, status, headers, body }) {
  if (!isDecodable(path)) return undefined;
  const { pathname, search } = new URL(path, 'http://localhost');
  const prism = createInstance(config, {
    logger,
    forward: () => () =>
      TaskEither.right({ statusCode: status, headers, body: parsed(body), responseType: 'json' }),
  });
  const request = {
    method: method.toLowerCase(),
    url: { path: pathname, query: parse(search.slice(1)) },
    headers: lowerCased(requestHeaders),
    body: parsed(requestBody),
  };
  const { right, left } = await prism.request(request, operations, config)();
  if (!right) throw left;
  const { input, output } = right.validations;
  if (input.some(({ message }) => message === 'Selected route not found')) return undefined;
  return [
    ...(status < 300 ? input.map(({ message, path }) => `request ${path?.join('.')} ${message}`) : []),
    ...output.map(({ message, path }) => `response ${path?.join('.')} ${message}`),
  ];
}

/** Prism cannot read the others. */
function isDecodable(path) {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

function lowerCased(headers) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text || undefined;
  }
}
