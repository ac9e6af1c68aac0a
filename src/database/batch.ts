import pg from 'pg';
import type { Param } from './database.ts';

export interface BatchStatement {
  text: string;
  values: readonly Param[];
  name: string | undefined;
  /** Whether somebody reads the rows that it returns. */
  returns: boolean;
}

/** An array as PostgreSQL writes it. */
const asText = (value: Param): string | null => {
  if (typeof value !== 'object' || value === null) return value === null ? null : String(value);
  return `{${value.map((item) => (typeof item === 'number' ? item : `"${item.replace(/[\\"]/g, '\\$&')}"`))}}`;
};

/** The driver's own object for what a statement returns. */
interface DriverResult extends pg.QueryResult {
  addFields(fields: unknown): void;
  parseRow(fields: unknown): pg.QueryResultRow;
  addRow(row: pg.QueryResultRow): void;
  addCommandComplete(message: unknown): void;
}
const DriverResult = (pg as unknown as { Result: new (mode: undefined, types: unknown) => DriverResult })
  .Result;

/** What the driver does with a connection, and its types leave out. */
interface DriverConnection extends pg.Connection {
  parsedStatements: Record<string, string>;
  describe(portal: object): void;
  parse(statement: object): void;
  bind(values: object): void;
  execute(portal: object): void;
}

/**
 * Several statements in one round trip, for `pg.Client.query`: PostgreSQL reads them as one message, and sends what they
 * return in one. If one fails, it skips those after it. The driver alone sends a message for each, which costs both sides
 * a system call each, and a transaction a third of its time.
 */
export class Batch implements pg.Submittable {
  readonly #statements: readonly BatchStatement[];
  readonly #results: DriverResult[];
  /** How many are done: the index of the one that the next message is about. */
  #done = 0;
  /** For the driver: when all are done, or one has failed. */
  callback: ((error: Error | null, results?: readonly pg.QueryResult[]) => void) | undefined;

  constructor(statements: readonly BatchStatement[], types: pg.CustomTypesConfig) {
    this.#statements = statements;
    this.#results = statements.map(() => new DriverResult(undefined, types));
  }

  /** How many had succeeded when one failed. */
  get done(): number {
    return this.#done;
  }

  /** The driver notes under it that PostgreSQL knows the statement. */
  get name(): string | undefined {
    return this.#statements[this.#done]?.name;
  }
  get text(): string | undefined {
    return this.#statements[this.#done]?.text;
  }

  submit(given: pg.Connection): void {
    const connection = given as DriverConnection;
    const parsed = new Set<string>();
    connection.stream.cork();
    for (const { text, values, name = '', returns } of this.#statements) {
      if (name === '' || !(connection.parsedStatements[name] || parsed.has(name)))
        connection.parse({ text, name });
      parsed.add(name);
      connection.bind({ statement: name, values, valueMapper: asText });
      if (returns) connection.describe({ type: 'P', name: '' });
      connection.execute({});
    }
    connection.sync();
    connection.stream.uncork();
  }

  // After a time-out the driver still hands over what the server sends.
  handleRowDescription({ fields }: { fields: unknown }): void {
    this.#results[this.#done]?.addFields(fields);
  }
  handleDataRow({ fields }: { fields: unknown }): void {
    if (!this.#statements[this.#done]?.returns) return;
    const result = this.#results[this.#done]!;
    result.addRow(result.parseRow(fields));
  }
  handleCommandComplete(message: unknown): void {
    this.#results[this.#done]?.addCommandComplete(message);
    this.#done += 1;
  }
  handleReadyForQuery(): void {
    this.callback?.(null, this.#results);
  }
  handleError(error: Error): void {
    this.callback?.(error);
  }
}
