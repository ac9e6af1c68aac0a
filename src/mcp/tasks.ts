import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  fromJsonSchema,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { Type } from 'typebox';
import { type Call, type Reply, resultOf } from './call.ts';

/** The extension for long work: a question is a task, its id is the task's id, and both live in the API. */
const EXTENSION = 'io.modelcontextprotocol/tasks';
export const TASKS = { extensions: { [EXTENSION]: {} } };

const POLL_EVERY_MS = 5000;
/** The API keeps the outcome of a question this long. */
const OUTCOME_KEPT_MS = 30 * 86_400_000;

const params = fromJsonSchema<{ taskId: string }>(
  Type.Object({ taskId: Type.String({ minLength: 1, maxLength: 64 }) }),
);

/** Whether this request declared the extension. Other requests do not count. */
export function declaresTasks({ mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
  const { extensions = {} } = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
  return Object.hasOwn(extensions, EXTENSION);
}

/** The result of a call that has stored a question. */
export const taskResult = (body: Record<string, unknown>): CallToolResult =>
  ({ resultType: 'task', ...taskOf(body), status: 'working' }) as unknown as CallToolResult;

/** `tasks/get`, `tasks/update` and `tasks/cancel` of the extension. */
export function serveTasks(server: Server, call: Call): void {
  const read = async (taskId: string, context: ServerContext) => {
    const { signal } = context.mcpReq;
    return known(await call({ method: 'GET', path: pathOf(taskId) }, signal));
  };
  const handle = (
    method: string,
    answer: (taskId: string, context: ServerContext) => Promise<Record<string, unknown>>,
  ) =>
    server.setRequestHandler(method, { params }, ({ taskId }, context) => {
      if (!declaresTasks(context)) {
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: TASKS });
      }
      return answer(taskId, context);
    });

  handle('tasks/get', async (taskId, context) => {
    const reply = await read(taskId, context);
    const { status } = reply.body;
    const task = taskOf(reply.body);
    if (status === 'waiting') return { ...task, status: 'working' };
    if (status === 'cancelled') return { ...task, status: 'cancelled' };
    return { ...task, status: 'completed', result: resultOf(reply) };
  });
  // A question never needs input from the client: there is nothing to update.
  handle('tasks/update', async (taskId, context) => {
    await read(taskId, context);
    return {};
  });
  handle('tasks/cancel', async (taskId, { mcpReq: { signal } }) => {
    const reply = await call({ method: 'DELETE', path: pathOf(taskId) }, signal);
    // It has ended already: the client reads how.
    if (reply.status !== 409) known(reply);
    return {};
  });
}

const pathOf = (taskId: string) => `/api/v1/ask/${encodeURIComponent(taskId)}`;

function taskOf(body: Record<string, unknown>) {
  const { id, created_at: createdAt, expires_at: expiresAt, status } = body;
  const lifeMs = expiresAt ? Date.parse(String(expiresAt)) - Date.parse(String(createdAt)) : undefined;
  return {
    taskId: String(id),
    createdAt,
    lastUpdatedAt: body[`${status}_at`] ?? createdAt,
    ttlMs: lifeMs === undefined ? null : lifeMs + OUTCOME_KEPT_MS,
    pollIntervalMs: POLL_EVERY_MS,
  };
}

function known(reply: Reply): Reply {
  if (reply.status < 400) return reply;
  const code = reply.status === 404 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  throw new ProtocolError(code, reply.status === 404 ? 'Task not found.' : String(reply.body.detail));
}
