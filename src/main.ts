import { flushCompileCache } from 'node:module';
import { type Config, ConfigError, loadEnvFile, readConfig } from './config.ts';
import { DatabaseProblem, DatabaseUnavailable } from './database/database.ts';
import { DEMO_USERS } from './demo.ts';
import { listeningProblem } from './http/listening.ts';
import { createLogger } from './log.ts';
import { VaultError } from './secrets.ts';
import { openServer, type Server } from './server.ts';

/**
 * Supervisors kill after ten seconds. No request waits for the database longer than five: whoever holds a
 * connection after that is cut off.
 */
const CUT_OFF_AFTER_MS = 6000;
const GIVE_UP_AFTER_MS = 9500;

async function main(): Promise<void> {
  loadEnvFile();
  const config = readConfig();
  const log = createLogger(config);
  // Before anything is written: whoever starts it twice by mistake finds things as they were.
  const taken = config.port !== 0 && (await listeningProblem(config.host, config.port));
  if (taken) throw listenProblem(taken, config) ?? new Error(`Port ${config.port} cannot be used: ${taken}.`);
  const server = await openServer(config, log);
  // Before anybody hears that it runs: whoever stops it then finds it ready to.
  stopOnSignal(server, () => log.flush());
  let url = '';
  const listenTextResolver = (address: string) => {
    // On several addresses the first is the one of this machine.
    url ||= address;
    return `${server.database.engine} database open, listening at ${address}`;
  };
  try {
    await server.app.listen({ host: config.host, port: config.port, listenTextResolver });
  } catch (error) {
    await server.close();
    throw listenProblem((error as NodeJS.ErrnoException).code, config) ?? error;
  }
  if (!config.production) console.log(banner(url, config.demo));
  // Now, and not at the end alone: a process that is killed has none, and the next start would take twice as long.
  flushCompileCache();
}

function banner(url: string, demo: boolean): string {
  const lines = [
    '',
    '  Deskbell is ready.',
    '',
    `  API docs   ${url}/docs`,
    `  Dashboard  ${url}/`,
    `  OpenAPI    ${url}/openapi.json`,
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
function stopOnSignal({ app, close }: Server, flush: () => void): void {
  let stopping = false;
  const end = (code: number) => {
    flush();
    process.exit(code);
  };
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) end(1);
    stopping = true;
    app.log.info({ signal }, 'stopping');
    setTimeout(() => app.server.closeAllConnections(), CUT_OFF_AFTER_MS).unref();
    setTimeout(() => end(1), GIVE_UP_AFTER_MS).unref();
    close().then(
      () => {
        app.log.info('stopped');
        end(0);
      },
      (err) => {
        app.log.error({ err }, 'could not stop in order');
        end(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function listenProblem(code: string | undefined, { host, port }: Config): ConfigError | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return new ConfigError([
        `Port ${port} is taken. Stop the other program, or set PORT to another number.`,
      ]);
    case 'EACCES':
      return new ConfigError([`Port ${port} may not be used by this user. Set PORT above 1023.`]);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ConfigError([`HOST ${host} is no address of this machine.`]);
    default:
      return undefined;
  }
}

/** One clear line for each mistake of the person who started this; a stack only for ours. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('\n');
  if (error instanceof DatabaseProblem || error instanceof VaultError) return error.message;
  if (error instanceof DatabaseUnavailable)
    return `The database cannot be used: ${(error.cause as Error).message}.`;
  const { syscall, message, stack } = error as NodeJS.ErrnoException;
  return syscall === undefined ? (stack ?? message) : message;
}

main().catch((error: unknown) => {
  console.error(explain(error));
  process.exit(1);
});
