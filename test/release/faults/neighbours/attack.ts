import type { Engine } from '../../../../src/database/database.ts';
import type { TestDatabase } from '../../../support/databases.ts';
import type { Serving, Settings } from '../../../support/process.ts';
import type { Finding, Size } from '../fault.ts';

/** One caller that tries to slow down everybody else. */
export interface Attack {
  /** The start of its figures' names. */
  what: string;
  /** Settings of the server, besides its database. */
  settings?: Settings;
  /** Before the server starts and the others' requests are measured: data, accounts, channels. */
  prepare?(testDatabase: TestDatabase, size: Size): Promise<void>;
  /** Before the others' requests are measured: the first request of a kind compiles code. */
  warmUp?(target: Target): Promise<void>;
  /** The attack itself. The others are measured while it runs. Returns its own figures. */
  run(target: Target): Promise<Finding[]>;
}

export interface Target {
  server: Serving;
  testDatabase: TestDatabase;
  engine: Engine;
  size: Size;
  /** The attacker's own token, of the first demo merchant. The others are the second. */
  token: string;
}
