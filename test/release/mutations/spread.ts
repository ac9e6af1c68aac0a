import { caughtBy, type Mutation } from './mutation.ts';

/** Tables over the nodes of a cluster, and what other engines lack. */
export const SPREAD_MUTATIONS: readonly Mutation[] = [
  ...caughtBy('test/database/distribute.test.ts', [
    {
      name: 'foreign keys are dropped before they are written down',
      file: 'src/database/spread/plan.ts',
      find: 'sql: rememberSql(dropped) }',
      replace: 'sql: rememberSql([]) }',
      test: 'goes on each time, until everything is as after one run; no server starts before',
    },
    {
      name: 'a server starts while foreign keys are missing',
      file: 'src/database/open.ts',
      find: "if (purpose !== 'distribute' && (await isUnfinished(database)))",
      replace: "if (purpose === 'command' && (await isUnfinished(database)))",
      test: 'goes on each time, until everything is as after one run; no server starts before',
    },
    {
      name: 'Citus converts the new tables of a migration',
      file: 'src/database/migrate.ts',
      find: "${database.isSpread ? MIGRATION_SETTINGS : ''}",
      replace: '',
      test: 'distributes only the tables that an upgrade has added, and everybody names them before',
    },
    {
      name: 'the nodes get a function with the triggers that use it',
      file: 'src/database/spread/plan.ts',
      find: '...functionSteps(ordered),',
      replace: '',
      test: 'distributes every table by merchant, on every node or not, keeps all rows and foreign keys, and says so',
    },
    {
      name: 'Citus changes a spread table on all nodes at the same time, and refuses the rest of a migration',
      file: 'src/database/spread/keys.ts',
      find: "set local citus.multi_shard_modify_mode = 'sequential';",
      replace: '',
      test: 'distributes only the tables that an upgrade has added, and everybody names them before',
    },
    {
      name: 'a backup of a cluster is restored into spread tables',
      file: 'src/database/copy/place.ts',
      find: 'throw new DatabaseProblem(IS_SPREAD);',
      replace: 'void IS_SPREAD;',
      test: 'can be backed up into a file, but nothing is restored into it',
    },
  ]),
  ...caughtBy('test/database/spreadTables.test.ts', [
    {
      name: 'a unique key of a spread table does not begin with the merchant',
      file: 'migrations/0032_spread.sql',
      find: 'unique (merchant_id, delivery_key);',
      replace: 'unique (delivery_key, merchant_id);',
      test: 'have no primary or unique key that does not begin with the merchant',
    },
  ]),
  ...caughtBy('test/database/engineProbe.test.ts', [
    {
      name: 'a lock that does not hold is not noticed',
      file: 'src/database/probe.ts',
      find: 'if (rows[0]?.locked) return NO_LOCKS;',
      replace: '',
      test: 'with locks of a transaction that do nothing is reported by doctor, and refused if it says that it is another one',
    },
  ]),
];
