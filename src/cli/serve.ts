import { startProblem } from '../startProblem.ts';
import { command as define, Failure } from './command.ts';

export const command = define({
  about: 'Run the server',
  details: `Serves the dashboard, the API and MCP, and sends messages unless WORKER=false. On SIGTERM or Ctrl+C it finishes what
it is doing; a second signal stops it immediately.`,
  run: async () => {
    const { serve } = await import('../serve.ts');
    await serve().catch((error: unknown) => {
      throw new Failure(startProblem(error));
    });
    return { silent: true };
  },
});
