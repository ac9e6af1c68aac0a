import { StatementSync } from 'node:sqlite';
import pg from 'pg';

/** Records the SQL statements of this process, in the database drivers, for a test that looks at their order or number. */
interface Statement {
  sql: string;
  params: readonly unknown[];
}

const recorded = new Map<string, Statement>();
let recording = false;

function record(sql: string, params: readonly unknown[] = []): void {
  if (recording && !recorded.has(sql)) recorded.set(sql, { sql, params });
}

export function startRecording(): void {
  recorded.clear();
  recording = true;
}

export function stopRecording(): Statement[] {
  recording = false;
  return [...recorded.values()];
}

// biome-ignore lint/suspicious/noExplicitAny: the driver's method has a dozen signatures
const client = pg.Client.prototype as any;
const { query } = client;
client.query = function (this: unknown, config: unknown, values: unknown, ...rest: unknown[]) {
  const { text = config, values: own = values } = (config ?? {}) as { text?: unknown; values?: unknown };
  if (typeof text === 'string') record(text, Array.isArray(own) ? own : []);
  return query.call(this, config, values, ...rest);
};

for (const name of ['all', 'get', 'run', 'iterate'] as const) {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const statement = StatementSync.prototype as any;
  const method = statement[name];
  statement[name] = function (this: StatementSync, ...params: unknown[]) {
    record(this.sourceSQL, params);
    return method.apply(this, params);
  };
}
