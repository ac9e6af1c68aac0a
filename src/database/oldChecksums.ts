import type { Engine } from './database.ts';

/**
 * Until version 0.1 a migration's checksum covered its whole file, including comments. This maps each of those to the
 * checksum of the file's statements, as it is computed now.
 */
const STATEMENT_SUMS: Readonly<Record<string, Readonly<Record<Engine, string>>>> = {
  // 0001_foundation
  '3fdc275f833caec2': { sqlite: 'd9a12c22d4b7234c', postgres: 'd9dae1345b70a0db' },
  // 0002_delivery
  ccd43a4d63c98069: { sqlite: 'e46fe3c616aae26f', postgres: 'b0ecccba9a8adc0a' },
  // 0003_knowledge
  '5beaaef39de755c9': { sqlite: '3f99311e643737db', postgres: '7a78970992e28936' },
  // 0004_live
  '7726789830885edb': { sqlite: '870e6df29d1e33e4', postgres: '46ab9f9011e2a4ea' },
  // 0005_upkeep
  '1d155a2c893be12a': { sqlite: 'e3b0c44298fc1c14', postgres: '780f3d4448e4d350' },
};

export const statementSumOf = (stored: string, engine: Engine): string =>
  STATEMENT_SUMS[stored]?.[engine] ?? stored;
