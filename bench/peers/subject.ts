import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../src/database/database.ts';
import { asAdmin, newDatabase } from '../cluster.ts';
import { NOTIFICATIONS, PASSWORD, reopen } from '../data.ts';
import type { HashCost } from '../hashing.ts';
import { BEARER, type Dialect } from '../load.ts';
import { COMPILE_CACHE, openPlace } from '../place.ts';
import { atTheEnd, runArgon2, runProgram, type ServerProcess, startProcess } from '../processes.ts';
import { type Plan, ROW_KINDS } from '../rows.ts';
import { install, megabytesOf, ownMegabytes } from './install.ts';
import type { Peer } from './peers.ts';

/** One of those that are compared: a running server with the data, and what it can be asked. */
export interface Subject {
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
}

export async function openDeskbell(engine: Engine, postgresUrl: string): Promise<Subject> {
  const place = await openPlace(engine, {
    notifications: NOTIFICATIONS,
    postgresUrl,
    startTwice: true,
  });
  const hashes = (atOnce: number, seconds: number) =>
    runArgon2({ hash: place.passwordHash, password: PASSWORD, atOnce, seconds });
  const { p50Ms } = await hashes(1, 1);
  const { perSecond } = await hashes(availableParallelism(), 2);
  return {
    id: engine === 'postgres' ? 'deskbell' : 'deskbell-sqlite',
    title: engine === 'postgres' ? 'Deskbell on PostgreSQL' : 'Deskbell on SQLite',
    server: place.server,
    tokens: place.tokens,
    dialect: BEARER,
    hash: { title: 'argon2id, 19 MiB, t 2', aloneMs: p50Ms, perSecond },
    installMegabytes: (await ownMegabytes()).withoutNode,
    poolSize: engine === 'postgres' ? place.config.databasePoolSize : 0,
    plan: (row, seconds) => ROW_KINDS.find(({ id }) => id === row)!.plan(seconds),
    reopen: () => place.arrange(reopen),
  };
}

export async function openPeer(peer: Peer, postgresUrl: string, ownPoolSize: number): Promise<Subject> {
  const poolSize = peer.poolSize ?? ownPoolSize;
  const source = new URL(`${peer.id}/`, import.meta.url).pathname;
  await install(source);
  console.log(`The same data into ${peer.title} …`);
  const databaseUrl = await newDatabase(postgresUrl);
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-peer-'));
  atTheEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const env = {
    ...peer.env,
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DATABASE_URL: databaseUrl,
    POOL_SIZE: String(poolSize),
  };
  const run = async <Answer>(file: string): Promise<Answer> => {
    const output = await runProgram(process.execPath, [join(source, file)], { env, folder });
    // What a library says before belongs to nobody.
    return JSON.parse(output.slice(output.lastIndexOf('\n') + 1));
  };
  const tokens = await run<string[]>('seed.mjs');

  const [name, before] = peer.dialect.tokenHeader.split(': ') as [string, string];
  const others = (peer.dialect.headers ?? []).map((line) => line.split(': '));
  const headers = { [name]: before + tokens[0], ...Object.fromEntries(others) };
  const start = () =>
    startProcess([join(source, 'server.mjs')], { env, folder, ready: { path: peer.mePath, headers } });
  // As with the service itself, the first start fills the cache of compiled sources.
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
    // It keeps no lists: a changed one costs it the same.
    plan: (row) => peer.plans[row === 'changed' ? 'list' : row],
    reopen: () => asAdmin(databaseUrl, [...peer.reopen, 'vacuum analyze', 'checkpoint']),
  };
}
