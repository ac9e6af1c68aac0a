import type { Database } from '../../src/database/database.ts';

/** The database, with a call for each statement of a transaction that writes. */
export const watchedWrites = (database: Database, onWrite: (sql: string) => void): Database => ({
  ...database,
  transaction: (work) =>
    database.transaction((tx) =>
      work({
        ...tx,
        run(sql, params) {
          onWrite(sql);
          return tx.run(sql, params);
        },
      }),
    ),
});
