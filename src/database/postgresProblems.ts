/** What PostgreSQL's errors mean, for people. Without the driver, which commands on the embedded database do not load. */

/** What to do about a code. PostgreSQL's own messages for these only have names of roles, tables and databases. */
const ADVICE: Readonly<Record<string, string>> = {
  '42501': 'make the role the owner of the database (alter database … owner to …)',
  '28P01': 'correct the password in DATABASE_URL',
  '28000': 'allow the role in pg_hba.conf, or correct DATABASE_URL',
  '3D000': 'create it, or correct DATABASE_URL',
};

/** Of all others the message may have values. */
const SENTENCES: Readonly<Record<string, string>> = {
  '53100': 'the disk of PostgreSQL is full',
  '53200': 'PostgreSQL has no memory left',
  '53300': 'PostgreSQL has no free connection: raise max_connections there, or lower DATABASE_POOL_SIZE here',
  '25006': 'PostgreSQL does not accept writes: it is a standby, or read-only',
  '55P03': 'another transaction holds a lock for too long: try again',
  '57014': 'PostgreSQL took too long and the statement was cancelled: try again',
  '57P01': 'PostgreSQL was stopped',
  '57P02': 'PostgreSQL was stopped',
  '57P03': 'PostgreSQL is starting or stopping',
  '40001': 'another transaction changed the same rows: try again',
  '40P01': 'another transaction changed the same rows: try again',
  '42P01': 'a table is missing, which somebody may have deleted: restore a backup',
  '42P07': 'a table exists already that Deskbell did not create: use an empty database',
};

/** What an error of PostgreSQL means, in a few words without values. Undefined if there are none for it. */
export function postgresProblem(error: unknown): string | undefined {
  if (!(error instanceof Error && 'severity' in error)) return undefined;
  const { code = '', message } = error as Error & { code?: string };
  return ADVICE[code] ? `${message}: ${ADVICE[code]}` : SENTENCES[code];
}

/** For the person who started the program. Never the address itself: it may contain a password. */
export function connectionProblem(error: unknown, setting = 'DATABASE_URL'): string {
  const { code, message } = error as { code?: string; message: string };
  if (message.includes('password must be a string'))
    return `the server wants a password, and ${setting} has none`;
  const known = postgresProblem(error)?.replace('DATABASE_URL', setting);
  if (known !== undefined) return known;
  if (error instanceof AggregateError || code === 'ECONNREFUSED') return 'nothing answers at its address';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its host name is unknown';
  if (message.startsWith('unsupported startup parameter'))
    return 'it is PgBouncer. Set DATABASE_DIRECT_URL to the address of PostgreSQL itself';
  return message.replace(/\.$/, '');
}
