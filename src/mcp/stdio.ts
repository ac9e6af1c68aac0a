import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Call, Reply } from './call.ts';
import { createServer } from './server.ts';

/** Calls the API of a running Deskbell. */
export const callOver =
  (url: string, key: string): Call =>
  async ({ method, path, body }, signal): Promise<Reply> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    try {
      const response = await fetch(new URL(path, url), {
        method,
        headers,
        signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Reply['body'] };
    } catch {
      const detail = `Deskbell does not answer at ${new URL(url).origin}.`;
      return { status: 503, body: { detail, code: 'SERVICE_UNAVAILABLE' } };
    }
  };

/** Serves the client that started this process, until it disconnects. */
export async function serveClient(call: Call, scopes: ReadonlySet<string>): Promise<void> {
  const transport = new StdioServerTransport();
  serveStdio((context) => createServer(call, scopes, context), { transport, maxSubscriptions: 0 });
  const { onclose } = transport;
  await new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
}
