import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { sqliteStore } from '../src/database/copy/sqliteStore.ts';
import { migrate } from '../src/database/migrate.ts';
import { openSqlite } from '../src/database/sqlite.ts';
import { databaseFile } from '../src/database/sqliteFolder.ts';
import { storeAnswerSchemas } from '../src/notifications/kinds.ts';
import { newSecretKey } from '../src/secrets.ts';
import { newDatabase } from './cluster.ts';
import { COLUMNS, seed } from './data.ts';
import { onExit } from './processes.ts';

/** How long `backup`, `restore` and `move` take, as processes of their own. */
interface CopyRow {
  command: string;
  seconds: number;
  /** Of the command, not of PostgreSQL. */
  cpuSeconds: number;
  peakMegabytes: number;
}

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

export async function benchCopies(postgresUrl: string, notifications: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-bench-'));
  onExit(async () => rmSync(folder, { recursive: true, force: true }));
  const inFolder = (name: string) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const file = (name: string) => join(folder, name);
  const source = inFolder('source');
  console.log(`Making ${notifications.toLocaleString('en')} notifications …`);
  await makeSource(source, notifications);
  const megabytes = Math.round(statSync(databaseFile(source)).size / 1e6);
  console.log(`The database has ${megabytes.toLocaleString('en')} MB on SQLite.`);
  const [moved, restored] = [await newDatabase(postgresUrl), await newDatabase(postgresUrl)];
  const secrets = { SECRET_KEY: newSecretKey() };
  const sqlite = (dataDir: string) => ({ ...secrets, DATA_DIR: dataDir });
  const postgres = (url: string) => ({ ...secrets, DATABASE_URL: url, DATA_DIR: source });
  const measure = async (command: string, args: readonly string[], env: Record<string, string>) =>
    print(await run(command, args, env));
  await measure('backup of SQLite', ['backup', file('sqlite.db')], sqlite(source));
  await measure('restore into SQLite', ['restore', file('sqlite.db')], sqlite(inFolder('restored')));
  await measure('move from SQLite to PostgreSQL', ['move', '--to', moved], sqlite(source));
  await measure('backup of PostgreSQL', ['backup', file('postgres.db')], postgres(moved));
  await measure('restore into PostgreSQL', ['restore', file('postgres.db')], postgres(restored));
  await measure(
    'move from PostgreSQL to SQLite',
    ['move', '--to', `sqlite:${inFolder('back')}`],
    postgres(moved),
  );
}

/** Of each notification: a message to the customer, what the customer wrote, two events, and its words. */
async function makeSource(folder: string, notifications: number): Promise<void> {
  const database = openSqlite(folder, { lock: false });
  await migrate(database, () => new Date());
  await storeAnswerSchemas(database);
  await seed(database, notifications, 'no password');
  await database.close();
  const connection = new DatabaseSync(databaseFile(folder));
  const store = sqliteStore(connection);
  const { before, after } = await store.slowParts();
  const { merchant, conversation, phone, at } = COLUMNS;
  const from = `from (select id as i, context from notifications)`;
  connection.exec('begin');
  for (const sql of [
    ...before,
    `insert into deliveries (id, merchant_id, key, notification_id, conversation_id, reference, context, recipient, mode,
        content, state, attempts, due_at, channel_id, channel_message_id, created_at, updated_at)
      select i, ${merchant}, lower(hex(randomblob(16))), i, ${conversation}, concat('ticket-', i), context, ${phone},
        'reply', 'Yes, choose it at checkout and we will do it.', 'sent', 1, ${at}, 'whatsapp',
        concat('wamid.', hex(randomblob(20))), ${at}, ${at} ${from}`,
    `insert into conversation_messages (id, merchant_id, conversation_id, sender, message_id, text, at, created_at)
      select i, ${merchant}, ${conversation}, 'customer', concat('wamid.', hex(randomblob(20))), context, ${at}, ${at} ${from}`,
    ...['notification.created', 'notification.answered'].map(
      (type, n) => `insert into events (merchant_id, position, type, at, notification_id, data, content)
        select ${merchant}, 2 * i + ${n}, '${type}', ${at}, i, concat('{"notification_id":', i, ',"conversation_id":', i,
          ',"notification_type":"user_question_request","status":"answered"}'), context ${from}`,
    ),
    `delete from inbox_index`,
    `insert into inbox_index (rowid, words) select i, replace(replace(concat(' do you grind the beans for a moka pot ', i, ' ticket-', i),
      '-', ''), ' ', concat(' ', ${merchant}, ':')) ${from}`,
    ...after,
  ])
    connection.exec(sql);
  connection.exec('commit');
  connection.exec('pragma wal_checkpoint(truncate)');
  await store.close();
}

async function run(command: string, args: readonly string[], env: Record<string, string>): Promise<CopyRow> {
  const startedAt = performance.now();
  // The process reports its own use at its end.
  const report = `data:text/javascript,${encodeURIComponent(
    `process.on('exit', () => { const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
      console.error(JSON.stringify({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMegabytes: maxRSS / 1024 })); });`,
  )}`;
  const child = spawn(process.execPath, ['--import', report, MAIN, ...args], {
    env: { PATH: process.env.PATH!, NODE_OPTIONS: process.env.NODE_OPTIONS ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopped = onExit(async () => void child.kill('SIGKILL'));
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} failed: ${errors}${output}`);
  await stopped();
  const used = JSON.parse(errors.trim().split('\n').at(-1)!);
  return { command, seconds: (performance.now() - startedAt) / 1000, ...used };
}

function print({ command, seconds, cpuSeconds, peakMegabytes }: CopyRow): void {
  console.log(
    `${command.padEnd(32)}${seconds.toFixed(1).padStart(7)} s, ${cpuSeconds.toFixed(1)} s of its own CPU time, at most ${peakMegabytes.toFixed(0)} MB`,
  );
}
