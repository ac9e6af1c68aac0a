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
  finishRequests(transport);
  const { onclose } = transport;
  await new Promise<void>((resolve) => {
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
}

/** The library drops open requests when the input ends. This answers them first. */
function finishRequests(transport: StdioServerTransport): void {
  const open = new Set<unknown>();
  let onEmpty = () => {};
  const end = (id: unknown) => {
    open.delete(id);
    if (open.size === 0) onEmpty();
  };
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  const close = transport.close.bind(transport);
  transport.onmessage = (message) => {
    if ('method' in message && 'id' in message) open.add(message.id);
    // A cancelled request gets no answer.
    if ('method' in message && message.method === 'notifications/cancelled') end(message.params?.requestId);
    onmessage?.(message);
  };
  transport.send = (message) =>
    send(message).finally(() => {
      if (!('method' in message)) end(message.id);
    });
  transport.close = async () => {
    if (open.size > 0) {
      await new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
    }
    await close();
  };
}
