/**
 * Loaded before the program: kills it, as `kill -9` does, at the commit with the number KILL_AT. With KILL_AT_SQL, at the
 * statement with this number that contains the text; with KILL_AT_RENAME, when it renames a file.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';

const { KILL_AT, KILL_AT_SQL: wanted, KILL_AT_RENAME } = process.env;
let left = Number(KILL_AT);
const die = () => process.kill(process.pid, 'SIGKILL');
const count = (text: unknown) => {
  if (wanted === undefined ? text !== 'commit' : !String(text).includes(wanted)) return;
  left -= 1;
  if (left === 0) die();
};
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  count(sql);
  return exec.call(this, sql);
};
for (const name of wanted === undefined ? [] : (['all', 'get', 'run'] as const)) {
  // biome-ignore lint/suspicious/noExplicitAny: each has its own signatures
  const statement = StatementSync.prototype as any;
  const method = statement[name];
  statement[name] = function (this: StatementSync, ...params: unknown[]) {
    count(this.sourceSQL);
    return method.apply(this, params);
  };
}
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [given] = args;
  count(typeof given === 'object' && given !== null && 'text' in given ? given.text : given);
  return (query as (...all: unknown[]) => unknown).apply(this, args);
} as typeof query;
if (KILL_AT_RENAME !== undefined) {
  fs.renameSync = die as never;
  syncBuiltinESMExports();
}
