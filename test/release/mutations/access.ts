import { caughtBy, type Mutation } from './mutation.ts';

/** Limits on what callers may do and see. */
export const ACCESS_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/contract/deadline.test.ts', [
    {
      name: 'an overloaded server accepts every request',
      file: 'src/http/limits/overload.ts',
      find: 'overloaded = delay.mean / 1e6 > delayMaxMs;',
      replace: 'overloaded = delay.mean < 0;',
      test: 'refuses requests, except health checks, until it is no longer',
    },
    {
      name: 'the statements of a request do not share its deadline',
      file: 'src/database/deadline.ts',
      find: 'return deadline ? deadline.endsAtMs - performance.now() : Number.POSITIVE_INFINITY;',
      replace: 'return Number.POSITIVE_INFINITY;',
      test: 'every request ends within its deadline, whatever it waits for',
    },
    {
      name: 'a slow body uses up the time of its request',
      file: 'src/http/limits/duration.ts',
      find: 'request.deadline.endsAtMs += performance.now() - request.bodyAwaitedAtMs;',
      replace: '',
      test: 'a client that sends its body slowly does not use up the time of its request',
    },
    {
      name: 'a write whose deadline has passed still waits for the lock',
      file: 'src/database/sqlite.ts',
      find: 'if (job.endsAtMs > nowMs) return true;',
      replace: 'return true;',
      test: 'a request waits for it until its deadline, and then writes nothing',
    },
  ]),
  ...caughtBy('test/process/cli.test.ts', [
    {
      name: 'the API document does not list the scopes of keys',
      file: 'src/http/openapi/document.ts',
      find: '...(scopes ?? []).map((scope) => ({ key: [scope] }))',
      replace: '',
      test: 'prints the OpenAPI document, and the copy in the repository is current',
    },
    {
      name: 'the API document repeats named schemas',
      file: 'src/http/openapi/schemas.ts',
      find: 'return { $ref: reference(title) };',
      replace: 'return schema;',
      test: 'prints the OpenAPI document, and the copy in the repository is current',
    },
  ]),
  ...caughtBy('test/process/surroundings.test.ts', [
    {
      name: 'Brotli compresses as well as it can',
      file: 'src/http/compression.ts',
      find: '    globalDecompression: false,',
      replace: '    globalDecompression: false, brotliOptions: { params: { 1: 11 } },',
      test: 'is compressed with Brotli at a quality that takes as long as gzip, not three hundred times as long',
    },
  ]),
  ...caughtBy('test/process/hardening.test.ts', [
    {
      name: 'the cookie of a production server travels over plain HTTP',
      file: 'src/auth/sessions/cookie.ts',
      find: "secure: production || reply.request.protocol === 'https',",
      replace: "secure: reply.request.protocol === 'https',",
      test: 'sets a cookie that needs TLS and belongs to this host alone',
    },
    {
      name: 'a proxy on the same machine can read the metrics for others',
      file: 'src/http/metrics.ts',
      find: ' && !isFromThisMachine(request)',
      replace: ' && false',
      test: 'gives its metrics only to its own machine, if no token or port is set',
    },
    {
      name: 'files of the data folder keep the modes of an earlier version',
      file: 'src/database/sqliteFolder.ts',
      find: 'if (lock) for',
      replace: 'if (!lock) for',
      test: 'has only files that their owner alone can read, whatever the mode of the folder',
    },
    {
      name: 'messages are sent to the whole Internet over plain HTTP',
      file: 'src/delivery/channels/fields.ts',
      find: "(protocol === 'http:' && isLoopback(hostName(hostname ?? '')))",
      replace: "protocol === 'http:'",
      test: 'are https, unless private ones are allowed',
    },
  ]),
  ...caughtBy('test/features/people/audit.test.ts', [
    {
      name: 'a disabled user is not written to the audit log',
      file: 'src/auth/users.ts',
      find: `    await recordChange(tx, what, user, by, at, role === undefined ? {} : { role });\n`,
      replace: '',
      test: 'a disabled user is written down in the same transaction',
    },
    {
      name: 'sending a message again is not written to the audit log',
      file: 'src/delivery/queue/control/retry.ts',
      find: `  await recordEvent(tx, { what: 'delivery.retried', merchantId, who: by, at, about: { delivery_id: id } });\n`,
      replace: '',
      test: 'sending again and cancelling are written down, one by one and for all',
    },
    {
      name: 'the audit log shows the events of all merchants',
      file: 'src/audit/store.ts',
      find: '  selectEvents(queries, merchantId, filter);',
      replace: '  selectEvents(queries, undefined, filter);',
      test: 'another merchant’s events are invisible, with every filter',
    },
    {
      name: 'every user of a merchant may do what only an owner may',
      file: 'src/auth/guard.ts',
      find: `    if (caller.role !== 'owner') throw ownerRequired();\n`,
      replace: '',
      test: 'only an owner may read it',
    },
  ]),
  ...caughtBy('test/contract/rateLimits.test.ts', [
    {
      name: 'a forged token gets a new rate limit',
      file: 'src/http/limits/rates.ts',
      find: 'caller === undefined || caller instanceof Error ? `address:${addressGroup(ip)}`',
      replace:
        'caller instanceof Error ? `forged:${Math.random()}` : caller === undefined ? `address:${addressGroup(ip)}`',
      test: 'forged and expired tokens count for their address',
    },
    {
      name: 'each token has its own rate limit',
      file: 'src/auth/tokens.ts',
      find: 'callerId: `user:${userId}`,',
      replace: 'callerId: `token:${payload.jti}`,',
      test: 'a new token gives no new allowance',
    },
    {
      name: 'refused requests of one user use up the allowance of the merchant',
      file: 'src/http/limits/rates.ts',
      find: 'if (leftIn(window) < 0) break;',
      replace: '',
      test: 'counts all its users together, and no other merchant',
    },
    {
      name: 'Redis counts requests per user only',
      file: 'src/http/limits/rates.ts',
      find: 'const limited = allowances.filter(({ perMinute }) => perMinute > 0);',
      replace: 'const limited = allowances.filter(({ perMinute }) => perMinute > 0).slice(0, 1);',
      test: 'two servers that share a Redis share the limits of a user and a merchant',
    },
  ]),
  ...caughtBy('test/contract/hosts.test.ts', [
    {
      name: 'every host name is answered',
      file: 'src/app.ts',
      find: 'if (config.allowedHosts) checkHosts(app, config.allowedHosts);',
      replace: '',
      test: 'must be one of this machine while the server listens there',
    },
  ]),
  ...caughtBy('test/release/faults/canaries.test.ts', [
    {
      name: 'an error contains a phone number',
      file: 'src/notifications/rules.ts',
      find: 'if (isMissing(member(context, field))) return refuse(required(field));',
      replace: `if (isMissing(member(context, field)))
      return refuse(invalid(field, \`\${field} is required of \${member(context, 'lead_phone')}\`));`,
      test: 'secrets, phone numbers and texts on every path, with and without errors (sqlite)',
    },
  ]),
  ...caughtBy('test/contract/errors.test.ts', [
    {
      name: 'an error contains a library’s text',
      file: 'src/http/errors.ts',
      find: '      return internalError(error);',
      replace: `      return new ApiError('INTERNAL_ERROR', String(error));`,
      test: 'an unexpected error is one fixed sentence: no stack, no SQL, no library text',
    },
    {
      name: 'a client that disconnects counts as a failure',
      file: 'src/http/errors.ts',
      find: 'const isCutOff = error === request.raw.errored;',
      replace: 'const isCutOff = false;',
      test: 'a client that closes its connection in the middle of a body to /api/v1/auth/login is no failure',
    },
  ]),
  ...caughtBy('test/features/delivery/channelSettings.test.ts', [
    {
      name: 'a channel’s secret is stored unencrypted',
      file: 'src/delivery/channels/settings.ts',
      find: 'const sealed = vault.seal(JSON.stringify(settings), channelPurpose(merchantId));',
      replace: 'const sealed = JSON.stringify(settings);',
      test: 'is encrypted: its secret and URL are nowhere in the database',
    },
  ]),
  ...caughtBy('test/features/delivery/webhookPrivate.test.ts', [
    {
      name: 'a webhook may point to a private network by default',
      file: 'src/config/channel.ts',
      find: 'flag(field.variable) ?? false',
      replace: 'flag(field.variable) ?? true',
      test: 'is not called unless that is allowed',
    },
  ]),
  ...caughtBy('test/features/delivery/webhookChannel.test.ts', [
    {
      name: 'a webhook’s host name may resolve to a private address',
      file: 'src/delivery/channels/webhook/publicAddress.ts',
      find: 'const allowed = found.filter(({ address }) => isPublicAddress(address));',
      replace: 'const allowed = found;',
      test: 'if a host name resolves to one',
    },
  ]),
  ...caughtBy('test/features/webhooks/eventLimits.test.ts', [
    {
      name: 'event streams are not counted per merchant',
      file: 'src/live/limits.ts',
      find: `if (isFull(keys[1], perMerchant)) return 'merchant';`,
      replace: '',
      test: 'all users of a merchant together may open so many, and other merchants have their own',
    },
    {
      name: 'a killed process keeps its event streams in Redis',
      file: 'src/live/limits.ts',
      find: `redis.call('zremrangebyscore', key, '-inf', now)`,
      replace: '',
      test: 'a process that was killed counts for at most a minute',
    },
  ]),
  ...caughtBy('test/contract/unreadBodies.test.ts', [
    {
      name: 'the rest of a body is not read before the connection closes',
      file: 'src/http/limits/unreadBodies.ts',
      find: 'else closeAfterReading(socket);',
      replace: 'else Socket.prototype.destroySoon.call(socket);',
      test: 'arrives: too large (content-length)',
    },
  ]),
  ...caughtBy('src/http/limits/unreadBodies.test.ts', [
    {
      name: 'a call within the process ends the server five seconds later',
      file: 'src/http/limits/unreadBodies.ts',
      find: ' || !(socket instanceof Socket)',
      replace: '',
      test: 'does nothing after a call within the process, which has no connection',
    },
  ]),
  ...caughtBy('src/mcp/http.test.ts', [
    {
      name: 'a tool waits for an answer that nobody can get any more',
      file: 'src/live/wait.ts',
      find: "request.raw.once('error', over);",
      replace: '',
      test: 'stops waiting for an answer when the client has gone',
    },
  ]),
  ...caughtBy('test/features/asks/mcpTasks.test.ts', [
    {
      name: 'an ended question is a task that never ends',
      file: 'src/mcp/tasks.ts',
      find: "status === 'waiting'",
      replace: "status !== 'cancelled'",
      test: 'turns a question into a task that ends with the answer',
    },
  ]),
  ...caughtBy('test/features/asks/mcp.test.ts', [
    {
      name: 'any web page may call the MCP address',
      file: 'src/mcp/routes.ts',
      find: 'if (!corsOrigins.includes(origin)) throw originRefused();',
      replace: '',
      test: 'may do so from our own origin and those of CORS_ORIGINS, and from no other',
    },
    {
      name: 'a call of a tool counts twice',
      file: 'src/http/limits/rates.ts',
      find: '!(request.raw.socket instanceof Socket)',
      replace: 'false',
      test: 'counts each call of a tool once for the rate limit of its key',
    },
    {
      name: 'an assistant sees tools that its key may not use',
      file: 'src/mcp/server.ts',
      find: 'scopes.some((scope) => keyScopes.has(scope))',
      replace: 'scopes.length > 0',
      test: 'has only the tools of its key’s scopes, and learns which scope is missing',
    },
    {
      name: 'a client without the tasks extension gets a task',
      file: 'src/mcp/server.ts',
      find: ' && declaresTasks(context)',
      replace: '',
      test: 'asks the merchant and gets the answer as soon as it is there',
    },
    {
      name: 'an error names a field of the API that the tool does not have',
      file: 'src/mcp/server.ts',
      find: 'reply.status === 422 ? renamed[String(field)] : undefined',
      replace: 'undefined as string | undefined',
      test: 'reads what is wrong with a call, and what it may not know',
    },
    {
      name: 'the end of the input drops the requests that are open',
      file: 'src/mcp/stdio.ts',
      find: '  finishRequests(transport);\n',
      replace: '',
      test: 'answers what it has read before it exits',
    },
  ]),
  ...caughtBy('test/contract/connections.test.ts', [
    {
      name: 'closed connections still count for their address',
      file: 'src/http/limits/connections.ts',
      find: 'const left = open.get(group)! - 1;',
      replace: 'const left = open.get(group)!;',
      test: 'above the limit of an address get 503 with Retry-After, and are closed',
    },
  ]),
];
