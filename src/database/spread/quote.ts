/** Names in SQL. Those of an operator's own tables can be anything: "My Labels". */

export const quotedText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The argument of a function of Citus: 'notifications'. */
export const tableArgument = (table: string): string =>
  quotedText(/^[a-z_][a-z0-9_]*$/.test(table) ? table : quotedName(table));
