import type { Engine } from './database.ts';

/**
 * The condition that `column` is one of the ids in a parameter, which is bound as an array of numbers. The text is
 * the same for any number of ids, so it stays one prepared statement.
 */
export const idIn = (engine: Engine, column: string, parameter: string): string =>
  ID_IN[engine](column, parameter);

const ID_IN: Readonly<Record<Engine, (column: string, parameter: string) => string>> = {
  sqlite: (column, parameter) => `${column} in (select value from json_each(${parameter}))`,
  // The planner knows the index for `= any(array)`; for a sub-select over JSON it guessed 100 rows.
  postgres: (column, parameter) => `${column} = any(cast(${parameter} as bigint[]))`,
};

/** The condition that `column` is one of the few values that a select gives. */
export const inSelect = (engine: Engine, column: string, select: string): string =>
  // As an array for the same reason.
  engine === 'sqlite' ? `${column} in (${select})` : `${column} = any(array(${select}))`;
