import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { MAIN, QUICK_START } from './program.ts';
import type { Deskbell, Reply } from './server.ts';

/** The official MCP clients of both generations. */

export const TASKS = 'io.modelcontextprotocol/tasks';
export const ABOUT = { name: 'test', version: '1' };
export const NEW = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;

/** What these tests use of a client, whatever its generation. */
export interface Assistant {
  names(): Promise<string[]>;
  use(name: string, given?: Record<string, unknown>): Promise<Reply['json']>;
  close(): Promise<void>;
}

function assistantOf(client: Pick<Client, 'listTools' | 'callTool' | 'close'>): Assistant {
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    use: (name, given = {}) => client.callTool({ name, arguments: given }),
    close: () => client.close(),
  };
}

export const withKey = (key: string) => ({ requestInit: { headers: { authorization: `Bearer ${key}` } } });
export const addressOf = ({ url }: Deskbell) => new URL('/mcp', url);

export async function connectOld(deskbell: Deskbell, key: string): Promise<Assistant> {
  const client = new OldClient(ABOUT);
  await client.connect(new OldHttpTransport(addressOf(deskbell), withKey(key)) as never);
  return assistantOf(client as never);
}

export async function connectNew(deskbell: Deskbell, key: string): Promise<Assistant> {
  const client = new Client(ABOUT, NEW);
  await client.connect(new StreamableHTTPClientTransport(addressOf(deskbell), withKey(key)));
  return assistantOf(client);
}

export const stdioOf = ({ url }: Deskbell, key: string) => ({
  command: process.execPath,
  args: [MAIN, 'mcp'],
  env: {
    PATH: process.env.PATH!,
    ...QUICK_START,
    DESKBELL_URL: url,
    DESKBELL_KEY: key,
  },
});

export async function connectStdio(deskbell: Deskbell, key: string): Promise<Assistant> {
  const client = new Client(ABOUT);
  await client.connect(new StdioClientTransport(stdioOf(deskbell, key)));
  return assistantOf(client);
}
