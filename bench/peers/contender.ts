import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../src/database/database.ts';
import { asAdmin, newDatabase } from '../cluster.ts';
import { NOTIFICATIONS, PASSWORD, reopen } from '../data.ts';
import type { HashCost } from '../hashing.ts';
import { COMPILE_CACHE, openInstance } from '../instance.ts';
import { BEARER, type Dialect } from '../load.ts';
import { countSent, waitUntilSent } from '../messages.ts';
import { onExit, runArgon2, runProgram, type ServerProcess, startProcess } from '../processes.ts';
import { type Plan, ROW_KINDS } from '../rows.ts';
import { install, megabytesOf, ownMegabytes } from './install.ts';
import type { Peer } from './peers.ts';

/** One of the compared servers. It is running, its data is loaded, and it has a request plan for each row. */
export interface Contender {
  id: string;
  title: string;
  server: ServerProcess;
  tokens: readonly string[];
  dialect: Dialect;
  hash: HashCost;
  installMegabytes: number;
  poolSize: number;
  plan(row: string, seconds: number): Plan | undefined;
  reopen(): Promise<void>;
  /** Only Deskbell sends messages, and only if asked to. */
  sentMessages?(): Promise<number>;
  waitUntilSent?(): Promise<void>;
}

export async function openDeskbell(engine: Engine, postgresUrl: string, sends: boolean): Promise<Contender> {
  const instance = await openInstance(engine, {
    notifications: NOTIFICATIONS,
    postgresUrl,
    startTwice: true,
    sends,
  });
  const hashes = (parallel: number, seconds: number) =>
    runArgon2({ hash: instance.passwordHash, password: PASSWORD, parallel, seconds });
  const { p50Ms } = await hashes(1, 1);
  const { perSecond } = await hashes(availableParallelism(), 2);
  return {
    id: engine === 'postgres' ? 'deskbell' : 'deskbell-sqlite',
    title: engine === 'postgres' ? 'Deskbell on PostgreSQL' : 'Deskbell on SQLite',
    server: instance.server,
    tokens: instance.tokens,
    dialect: BEARER,
    hash: { title: 'argon2id, 19 MiB, t 2', singleMs: p50Ms, perSecond },
    installMegabytes: (await ownMegabytes()).withoutNode,
    poolSize: engine === 'postgres' ? instance.config.databasePoolSize : 0,
    plan: (row, seconds) => ROW_KINDS.find(({ id }) => id === row)!.plan(seconds),
    reopen: () => instance.changeData(reopen),
    ...(sends
      ? {
          sentMessages: () => countSent(instance),
          waitUntilSent: () => waitUntilSent(instance.server.url),
        }
      : {}),
  };
}

export async function openPeer(peer: Peer, postgresUrl: string, ownPoolSize: number): Promise<Contender> {
  const poolSize = peer.poolSize ?? ownPoolSize;
  const source = new URL(`${peer.id}/`, import.meta.url).pathname;
  await install(source);
  console.log(`Loading the same data into ${peer.title} …`);
  const databaseUrl = await newDatabase(postgresUrl);
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-peer-'));
  onExit(async () => rmSync(folder, { recursive: true, force: true }));
  const env = {
    ...peer.env,
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DATABASE_URL: databaseUrl,
    POOL_SIZE: String(poolSize),
  };
  const run = async <Answer>(file: string): Promise<Answer> => {
    const output = await runProgram(process.execPath, [join(source, file)], { env, folder });
    // Ignore what a library printed before.
    return JSON.parse(output.slice(output.lastIndexOf('\n') + 1));
  };
  const tokens = await run<string[]>('seed.mjs');

  const [name, before] = peer.dialect.tokenHeader.split(': ') as [string, string];
  const others = (peer.dialect.headers ?? []).map((line) => line.split(': '));
  const headers = { [name]: before + tokens[0], ...Object.fromEntries(others) };
  const start = () =>
    startProcess([join(source, 'server.mjs')], { env, folder, ready: { path: peer.mePath, headers } });
  // As with the service, the first start only fills the compile cache.
  await (await start()).stop();
  const server = await start();
  return {
    id: peer.id,
    title: peer.title,
    server,
    tokens,
    dialect: peer.dialect,
    hash: await run<HashCost>('hash.mjs'),
    installMegabytes: megabytesOf(source),
    poolSize,
    // It has no cache of lists, so a changed list costs the same.
    plan: (row) => peer.plans[row === 'changed' ? 'list' : row],
    reopen: () => asAdmin(databaseUrl, [...peer.reopen, 'vacuum analyze', 'checkpoint']),
  };
}
