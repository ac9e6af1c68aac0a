import { flushCompileCache } from 'node:module';
import { type Config, readConfig } from './config.ts';
import { loadPhoneNumbers } from './delivery/phone.ts';
import { DEMO_USERS } from './demo.ts';
import { listeningProblem } from './http/listening.ts';
import { type ListenFailure, listenError } from './listenError.ts';
import { createLogger } from './log.ts';
import { logProcessEvents } from './processOutput.ts';
import { openServer, type Server } from './server.ts';

/**
 * Counted from the end of `DRAIN_SECONDS`. By default no request takes longer than five seconds, so connections that are
 * still open after six are closed. The process ends within ten: supervisors wait for both (see deploy/README.md).
 */
const CLOSE_CONNECTIONS_AFTER_MS = 6000;
const EXIT_AFTER_MS = 9500;

/** Runs a server until a signal stops it. Returns when it is ready. */
export async function serve(): Promise<void> {
  const config = readConfig();
  const log = createLogger(config);
  logProcessEvents(log);
  // Check the ports before anything is written: starting it twice by mistake must change nothing.
  for (const port of [config.port, config.metricsPort]) {
    const code = port && (await listeningProblem(config.host, port));
    if (code) throw listenError({ code, port }, config) ?? new Error(`Port ${port} cannot be used: ${code}.`);
  }
  const server = await openServer(config, log, undefined, { demoHistory: true });
  // Handle signals before the server says that it is ready.
  stopOnSignal(server, config, () => log.flush());
  let url = '';
  const listenTextResolver = (address: string) => {
    // With several addresses, the first one is local.
    url ||= address;
    return `${server.database.engine} database open, listening at ${address}`;
  };
  try {
    await server.app.listen({ host: config.host, port: config.port, listenTextResolver });
  } catch (error) {
    await server.close();
    throw listenError(error as ListenFailure, config) ?? error;
  }
  if (!config.production) console.log(banner(url, config));
  // Not with the first request that has a number: it would wait for it, and all others with it.
  loadPhoneNumbers();
  // Node writes the cache at exit, but a killed process has no exit: its next start would take twice as long.
  flushCompileCache();
}

function banner(url: string, { demo, docs, host, metricsPort }: Config): string {
  const metricsUrl = metricsPort === undefined ? url : `http://${host}:${metricsPort}`;
  const lines = [
    '',
    '  Deskbell is ready.',
    '',
    ...(docs ? [`  API docs   ${url}/docs`] : []),
    `  Dashboard  ${url}/`,
    ...(docs ? [`  OpenAPI    ${url}/openapi.json`, `  Assistant  ${url}/docs/assistant.md`] : []),
    `  MCP        ${url}/mcp`,
    `  Metrics    ${metricsUrl}/metrics`,
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

/**
 * Finishes open requests, then exits. SIGTERM comes from a supervisor, so proxies get time to choose another server; a
 * person who presses Ctrl+C does not wait. A second signal exits immediately.
 */
function stopOnSignal(
  { app, close, drain }: Server,
  { drainSeconds }: Pick<Config, 'drainSeconds'>,
  flush: () => void,
): void {
  let stopping = false;
  const end = (code: number) => {
    flush();
    process.exit(code);
  };
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) end(1);
    stopping = true;
    const seconds = signal === 'SIGTERM' ? drainSeconds : 0;
    if (seconds > 0) app.log.info({ signal, seconds }, 'draining');
    await drain.start(app, seconds);
    app.log.info({ signal }, 'stopping');
    setTimeout(() => app.server.closeAllConnections(), CLOSE_CONNECTIONS_AFTER_MS).unref();
    setTimeout(() => end(1), EXIT_AFTER_MS).unref();
    close().then(
      () => end(0),
      (err) => {
        app.log.error({ err }, 'graceful shutdown failed');
        end(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
