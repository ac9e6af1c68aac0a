import pg from 'pg';
import { type PostgresAddress, type PostgresHost, readPostgresAddress } from './address.ts';

/** Connects to one of several servers of one database, because the driver supports only a single host. */
export interface Hosts {
  /** A client that connects to the server that accepts writes. */
  Client: typeof pg.Client;
  /** The connection string for `Client`. */
  url: string;
  /** The chosen server may no longer accept writes: the next connection chooses again. */
  invalidate(): void;
  /** Whether another server has been chosen since this client connected. */
  isOutdated(client: pg.Client): boolean;
  /** Called when another server was chosen. */
  onMoved(listener: () => void): void;
  /**
   * Checks regularly whether the server still accepts writes. Call the result to stop. Reads would not show it: a
   * server that became a standby still answers them.
   */
  watch(pool: pg.Pool): () => void;
}

/** Well below the connection time-out, because we still have to connect after choosing. */
const CHOOSE_MAX_MS = 900;
/** While no server accepts writes, requests within this time share one search, which connects to every server. */
const CHOOSE_AGAIN_MS = 200;
const WATCH_EVERY_MS = 1000;

/**
 * After a failed attempt, such as without the password that the server wants, the driver leaves the connection open. The
 * server would close it only after a minute, and until then this process would not end.
 */
class PromptClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Without a listener, a broken connection would end the process. The pool adds its own only when it hears that the
    // connection is ready, and PostgreSQL may end it in the same moment.
    this.on('error', () => {});
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
  override connect(callback?: (error: never, client: never) => void): Promise<pg.Client> | undefined {
    const connected = super.connect().catch((error: unknown) => {
      this.connection.stream.destroy();
      throw error;
    });
    if (!callback) return connected;
    connected.then(
      () => callback(null as never, this as never),
      (error) => callback(error as never, undefined as never),
    );
    return undefined;
  }
}

/** With a single host the driver does everything else. */
export function createHosts(url: string): Hosts {
  const address = readPostgresAddress(url);
  const [first] = address.hosts as [PostgresHost];
  if (address.hosts.length === 1) {
    return {
      Client: PromptClient,
      url: first.url,
      invalidate() {},
      isOutdated: () => false,
      onMoved() {},
      watch: () => () => {},
    };
  }

  let chosen: PostgresHost | undefined;
  let last: PostgresHost | undefined;
  let choosing: Promise<PostgresHost> | undefined;
  let notifyMoved = () => {};

  function choose(): Promise<PostgresHost> {
    if (chosen) return Promise.resolve(chosen);
    if (!choosing) {
      choosing = findServer(address);
      choosing.then(
        (found) => {
          choosing = undefined;
          chosen = found;
          const moved = last !== undefined && last !== found;
          last = found;
          if (moved) notifyMoved();
        },
        () => {
          const clear = setTimeout(() => {
            choosing = undefined;
          }, CHOOSE_AGAIN_MS);
          clear.unref();
        },
      );
    }
    return choosing;
  }

  const invalidate = () => {
    chosen = undefined;
  };
  const servers = new WeakMap<pg.Client, PostgresHost>();

  class ChoosingClient extends PromptClient {
    override connect(): Promise<pg.Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
    override connect(callback?: (error: never, client: never) => void): Promise<pg.Client> | undefined {
      const connected = this.#connect();
      if (!callback) return connected;
      connected.then(
        () => callback(null as never, this as never),
        (error) => callback(error as never, undefined as never),
      );
      return undefined;
    }

    async #connect(): Promise<pg.Client> {
      const server = await choose();
      servers.set(this, server);
      this.host = server.host;
      this.port = server.port;
      // A broken connection is the first sign that the server is down.
      this.on('error', invalidate);
      try {
        await super.connect();
        await refuseReadOnly(this, address);
      } catch (error) {
        invalidate();
        this.end().catch(() => {});
        throw error;
      }
      return this;
    }
  }

  return {
    Client: ChoosingClient,
    url: first.url,
    invalidate,
    isOutdated(client) {
      const server = servers.get(client);
      return server !== undefined && server !== last;
    },
    onMoved(listener) {
      notifyMoved = listener;
    },
    watch(pool) {
      const timer = setInterval(async () => {
        const problem = await refuseReadOnly(pool, address).catch((error) => error);
        if (!(problem instanceof ReadOnlyServer)) return;
        invalidate();
        // Now, not at the next connection: idle connections must be replaced too.
        await choose().catch(() => {});
      }, WATCH_EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

/** Asks all servers in parallel, so that a silent one causes no delay, and chooses the first that accepts writes. */
async function findServer(address: PostgresAddress): Promise<PostgresHost> {
  const problems: unknown[] = [];
  const asked = address.hosts.map(async (server) => {
    const client = new PromptClient({
      connectionString: server.url,
      connectionTimeoutMillis: CHOOSE_MAX_MS,
      query_timeout: CHOOSE_MAX_MS,
      application_name: 'deskbell hosts',
    });
    try {
      await client.connect();
      await refuseReadOnly(client, address);
      return server;
    } catch (error) {
      problems.push(error);
      throw error;
    } finally {
      client.end().catch(() => {});
    }
  });
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout: no host answers')), CHOOSE_MAX_MS);
  });
  try {
    return await Promise.race([Promise.any(asked), timedOut]);
  } catch (error) {
    throw mostUseful(problems) ?? error;
  } finally {
    clearTimeout(timer);
  }
}

/** Prefers an error from a server, then "all are read-only": both are more useful than "a host does not answer". */
function mostUseful(errors: unknown[]): unknown {
  const fromServers = errors.filter((error) => error instanceof pg.DatabaseError);
  return fromServers[0] ?? errors.find((error) => error instanceof ReadOnlyServer) ?? errors[0];
}

/** The same check as in libpq: `on` for a standby, or if the server's settings say so. */
async function refuseReadOnly(client: pg.Client | pg.Pool, { target }: PostgresAddress): Promise<void> {
  if (target === 'any') return;
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
  if (rows[0]?.transaction_read_only !== 'off') throw new ReadOnlyServer();
}

/** Has the same code as PostgreSQL's error for a write to a read-only server. */
class ReadOnlyServer extends Error {
  readonly code = '25006';
  constructor() {
    super('none of its hosts accepts writes');
  }
}
