import { readApiAccess } from '../config.ts';
import { command as define, Failure } from './command.ts';

export const command = define({
  about: 'Connect an AI assistant over MCP (stdio)',
  details: `An assistant's program starts this command and speaks the Model Context Protocol with it. The tools call a running
Deskbell at DESKBELL_URL with the key DESKBELL_KEY. Programs that can use HTTP do not need this command: they use the address /mcp.`,
  run: async () => {
    const { url, key } = readApiAccess();
    const { callOver, serveClient } = await import('../mcp/stdio.ts');
    const call = callOver(url, key);
    const { status, body } = await call(
      { method: 'GET', path: '/api/v1/keys/self' },
      AbortSignal.timeout(10_000),
    );
    if (status !== 200)
      throw new Failure(status === 503 ? String(body.detail) : `DESKBELL_KEY was refused: ${body.detail}`);
    await serveClient(call, new Set(body.scopes as string[]));
    return { silent: true };
  },
});
