import { ConfigError, loadEnvFile, readConfig } from './config.ts';
import { DatabaseProblem } from './database/database.ts';
import { DEMO_USERS } from './demo.ts';
import { createLogger } from './log.ts';
import { openServer, type Server } from './server.ts';

const SHUTDOWN_MAX_MS = 9500;

async function main(): Promise<void> {
  loadEnvFile();
  const config = readConfig();
  const log = createLogger(config);
  const server = await openServer(config, log);
  let url = '';
  const listenTextResolver = (address: string) => {
    url = address;
    return `${server.database.engine} database open, listening at ${address}`;
  };
  try {
    await server.app.listen({ host: config.host, port: config.port, listenTextResolver });
  } catch (error) {
    await server.close();
    throw error;
  }
  if (!config.production) console.log(banner(url, config.demo));
  stopOnSignal(server, () => log.flush());
}

function banner(url: string, demo: boolean): string {
  const lines = [
    '',
    '  Deskbell is ready.',
    '',
    `  API docs   ${url}/docs`,
    `  API        ${url}/api/v1/`,
    `  Metrics    ${url}/metrics`,
  ];
  if (demo) {
    const [first] = DEMO_USERS;
    const body = JSON.stringify({ email: first.email, password: first.password });
    lines.push(
      '',
      '  Sign in with',
      ...DEMO_USERS.map(
        ({ email, password, about }) => `    ${email.padEnd(26)} ${password.padEnd(15)} ${about}`,
      ),
      '',
      '  Try it',
      `    curl -s ${url}/api/v1/auth/login -H 'Content-Type: application/json' -d '${body}'`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Requests in flight finish; then the process ends. A second signal ends it at once. */
function stopOnSignal(server: Server, flush: () => void): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    server.app.log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), SHUTDOWN_MAX_MS).unref();
    server
      .close()
      .then(() => server.app.log.info('stopped'))
      .finally(() => {
        flush();
        process.exit(0);
      });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** One clear line for each mistake of the person who started this; a stack only for ours. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('\n');
  if (error instanceof DatabaseProblem) return error.message;
  const { code, syscall, message, stack } = error as NodeJS.ErrnoException;
  const { PORT = '8000', HOST = '127.0.0.1' } = process.env;
  if (code === 'EADDRINUSE')
    return `Port ${PORT} is taken. Stop the other program, or set PORT to another number.`;
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo')
    return `HOST ${HOST} is no address of this machine.`;
  if (code === 'EACCES' && syscall === 'listen')
    return `Port ${PORT} may not be used by this user. Set PORT above 1023.`;
  if (code === 'EACCES' || code === 'EROFS') return `No permission: ${message}`;
  return stack ?? message;
}

main().catch((error: unknown) => {
  console.error(explain(error));
  process.exit(1);
});
