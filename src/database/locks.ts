/** SQL that locks a name until the transaction ends, and waits for it. */
export const lockNameSql = (name: string) => `pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
