import pg from 'pg';
import { type PostgresAddress, type PostgresHost, readPostgresAddress } from './address.ts';

/** Connections to one of several servers of one database: the driver itself knows one host alone. */
export interface Hosts {
  /** A client that goes, as it connects, to the server that takes writes. */
  Client: typeof pg.Client;
  /** The connection string for it. */
  url: string;
  /** The server that was written to may no longer take writes: the next connection looks before it goes. */
  doubt(): void;
  /** Whether this client's server has been left for another. */
  isLeft(client: pg.Client): boolean;
  /** Called when another server has been chosen. */
  onMoved(listener: () => void): void;
  /**
   * Asks now and then, until the result is called, whether the server still takes writes. Reads alone would
   * never tell: they would go on, and on, from one that was set aside.
   */
  watch(pool: pg.Pool): () => void;
}

/** Well below the time a connection may take: what is found must still be connected to. */
const LOOK_MAX_MS = 900;
/** While there is none, so many requests share one look: each costs every server a connection. */
const LOOK_AGAIN_MS = 200;
const WATCH_EVERY_MS = 1000;

/** With one host all of it is the driver's. */
export function createHosts(url: string): Hosts {
  const address = readPostgresAddress(url);
  const [first] = address.hosts as [PostgresHost];
  if (address.hosts.length === 1) {
    return { Client: pg.Client, url, doubt() {}, isLeft: () => false, onMoved() {}, watch: () => () => {} };
  }

  let chosen: PostgresHost | undefined;
  let last: PostgresHost | undefined;
  let looking: Promise<PostgresHost> | undefined;
  let tellMoved = () => {};

  function choose(): Promise<PostgresHost> {
    if (chosen) return Promise.resolve(chosen);
    if (!looking) {
      looking = look(address);
      looking.then(
        (found) => {
          looking = undefined;
          chosen = found;
          const moved = last !== undefined && last !== found;
          last = found;
          if (moved) tellMoved();
        },
        () => {
          const clear = setTimeout(() => {
            looking = undefined;
          }, LOOK_AGAIN_MS);
          clear.unref();
        },
      );
    }
    return looking;
  }

  const doubt = () => {
    chosen = undefined;
  };
  const servers = new WeakMap<pg.Client, PostgresHost>();

  class ChoosingClient extends pg.Client {
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
      // A connection that breaks is the first to tell of a server that went away.
      this.on('error', doubt);
      try {
        await super.connect();
        await refuseReadOnly(this, address);
      } catch (error) {
        doubt();
        this.end().catch(() => {});
        throw error;
      }
      return this;
    }
  }

  return {
    Client: ChoosingClient,
    url: first.url,
    doubt,
    isLeft(client) {
      const server = servers.get(client);
      return server !== undefined && server !== last;
    },
    onMoved(listener) {
      tellMoved = listener;
    },
    watch(pool) {
      const timer = setInterval(async () => {
        const problem = await refuseReadOnly(pool, address).catch((error) => error);
        if (!(problem instanceof ReadOnlyServer)) return;
        doubt();
        // At once, not with the next connection: those at rest are to move, too.
        await choose().catch(() => {});
      }, WATCH_EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

/** All are asked at once, so that a silent one costs nothing; the first that will do is taken. */
async function look(address: PostgresAddress): Promise<PostgresHost> {
  const problems: unknown[] = [];
  const asked = address.hosts.map(async (server) => {
    const client = new pg.Client({
      connectionString: server.url,
      connectionTimeoutMillis: LOOK_MAX_MS,
      query_timeout: LOOK_MAX_MS,
      application_name: 'deskbell hosts',
    });
    client.on('error', () => {});
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
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout: no host answers')), LOOK_MAX_MS);
  });
  try {
    return await Promise.race([Promise.any(asked), tooLate]);
  } catch (error) {
    throw mostTelling(problems) ?? error;
  } finally {
    clearTimeout(timer);
  }
}

/** What a server complains of, then that it is read-only: both tell more than that another does not answer. */
function mostTelling(errors: unknown[]): unknown {
  const said = errors.filter((error) => error instanceof pg.DatabaseError);
  return said[0] ?? errors.find((error) => error instanceof ReadOnlyServer) ?? errors[0];
}

/** As libpq asks: on for a standby, and where the server's settings say so. */
async function refuseReadOnly(client: pg.Client | pg.Pool, { target }: PostgresAddress): Promise<void> {
  if (target === 'any') return;
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
  if (rows[0]?.transaction_read_only !== 'off') throw new ReadOnlyServer();
}

/** Has the code that PostgreSQL gives a write which it refuses for the same reason. */
class ReadOnlyServer extends Error {
  readonly code = '25006';
  constructor() {
    super('none of its hosts takes writes');
  }
}
