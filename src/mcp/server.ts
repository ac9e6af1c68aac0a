import {
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import type { TObject } from 'typebox';
import { VERSION } from '../version.ts';
import { type Call, type Reply, resultOf } from './call.ts';
import { declaresTasks, serveTasks, TASKS, taskResult } from './tasks.ts';
import { TOOLS, type ToolEntry } from './tools.ts';

const INSTRUCTIONS =
  'Deskbell connects you with the merchant of a shop. When a customer asks something that you do not know: call find_answer; if no candidate answers it, call ask_merchant and tell the customer that you are asking; call get_answer until the merchant has answered. With deliver “deskbell” (the default) Deskbell itself sends the answer to the customer’s phone: do not repeat it. With deliver “assistant” nobody else tells the customer: you do. If `taken_over` in a result is not null, a person speaks to this customer: send the customer nothing until it is null again. Call request_human when the customer needs a person. Never invent an answer about the shop.';

/** The tools that a key with these scopes may use, for one request over HTTP or one connection over stdio. */
export function createServer(call: Call, keyScopes: ReadonlySet<string>, { era }: McpRequestContext): Server {
  const server = new Server(
    { name: 'deskbell', title: 'Deskbell', version: VERSION },
    { capabilities: { tools: {}, ...(era === 'modern' ? TASKS : {}) }, instructions: INSTRUCTIONS },
  );
  const offered = TOOLS.filter(({ scopes }) => scopes.some((scope) => keyScopes.has(scope))).map(describe);
  server.setRequestHandler('tools/list', () => ({ tools: offered }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    // Also a tool that is not offered: the API's answer says which scope is missing.
    const tool = TOOLS.find(({ name }) => name === params.name);
    if (!tool) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}".`);
    }
    const given = params.arguments ?? {};
    const missing = missingField(tool, given);
    if (missing) return resultOf(invalid(missing));
    const reply = withToolNames(tool, await call(tool.request(given), context.mcpReq.signal));
    if (tool.asks && reply.body.status === 'asked' && declaresTasks(context)) return taskResult(reply.body);
    return resultOf(reply);
  });
  if (era === 'modern') serveTasks(server, call);
  return server;
}

const describe = ({ name, title, description, annotations, inputSchema, outputSchema }: ToolEntry) =>
  ({ name, title, description, annotations, inputSchema, outputSchema }) as unknown as Tool;

const missingField = ({ inputSchema }: ToolEntry, given: Readonly<Record<string, unknown>>) =>
  (inputSchema as TObject).required?.find((name) => (given[name] ?? undefined) === undefined);

const invalid = (field: string): Reply => ({
  status: 422,
  body: { detail: `${field} is required`, code: 'VALIDATION_ERROR', field },
});

/** The model knows the fields of the tool, not those of the API. */
function withToolNames({ renamed = {} }: ToolEntry, reply: Reply): Reply {
  const { field, detail } = reply.body;
  const name = reply.status === 422 ? renamed[String(field)] : undefined;
  if (name === undefined) return reply;
  return {
    ...reply,
    body: { ...reply.body, field: name, detail: String(detail).replace(String(field), name) },
  };
}
