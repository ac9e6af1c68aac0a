/** Loaded before the program: kills it, as `kill -9` does, at the commit with the number KILL_AT. */
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

let left = Number(process.env.KILL_AT);
const count = (text: unknown) => {
  if (text !== 'commit') return;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
};
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  count(sql);
  return exec.call(this, sql);
};
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  count(args[0]);
  return (query as (...all: unknown[]) => unknown).apply(this, args);
} as typeof query;
