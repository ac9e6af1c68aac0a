import { nearest } from '../config/nearest.ts';
import { ConfigError, settingsHelp } from '../config.ts';
import { DatabaseProblem } from '../database/database.ts';
import { databaseMessage } from '../database/problems.ts';
import { PACKAGED } from '../installation.ts';
import { VaultError } from '../secrets.ts';
import { systemProblem } from '../systemErrors.ts';
import { VERSION } from '../version.ts';
import { helpOf, readArguments } from './arguments.ts';
import { type Command, type CommandFile, Failure, type Outcome, PROGRAM, UsageError } from './command.ts';
import { createTable } from './terminal.ts';

/** Each file is loaded only when its command is called. */
export const COMMANDS: Readonly<Record<string, { about: string; load: () => Promise<CommandFile> }>> = {
  merchant: { about: 'Merchants: add, list, set, export, delete', load: () => import('./merchant.ts') },
  user: {
    about: 'Users: add, list, password, role, disable, enable, reset-factors, export, delete',
    load: () => import('./user.ts'),
  },
  conversation: {
    about: 'Conversations: add, list, import, export, delete',
    load: () => import('./conversation.ts'),
  },
  knowledge: { about: 'Documents: import, export', load: () => import('./knowledge.ts') },
  channel: {
    about: 'A merchant’s channel: show, set, unset, limit, test, resume',
    load: () => import('./channel.ts'),
  },
  delivery: {
    about: 'Messages to customers: list, show, retry, cancel, hold, release',
    load: () => import('./delivery.ts'),
  },
  audit: { about: 'Who did what: list', load: () => import('./audit.ts') },
  key: { about: 'Keys of merchants’ programs: add, list, revoke', load: () => import('./key.ts') },
  keys: { about: 'Signing keys and SECRET_KEY: list, rotate, status', load: () => import('./keys.ts') },
  db: { about: 'The database: migrate, status, distribute', load: () => import('./db.ts') },
  backup: { about: 'Back up the database into a file', load: () => import('./backup/backup.ts') },
  restore: { about: 'Restore a backup into an empty database', load: () => import('./backup/restore.ts') },
  move: { about: 'Move everything to another database', load: () => import('./backup/move.ts') },
  demo: { about: 'Add the demo data to an empty database', load: () => import('./demo.ts') },
  mcp: { about: 'Connect an AI assistant over MCP (stdio)', load: () => import('./mcp.ts') },
  serve: { about: 'Run the server', load: () => import('./serve.ts') },
  work: { about: 'Run a delivery worker', load: () => import('./work.ts') },
  doctor: { about: 'Find problems and show how to fix them', load: () => import('./doctor.ts') },
  openapi: { about: 'Print the OpenAPI document', load: () => import('./openapi.ts') },
  secret: { about: 'Print a new SECRET_KEY', load: () => import('./secret.ts') },
};

const EXIT = { ok: 0, failure: 1, usage: 2 } as const;

/** Where the program runs: a process, or a test. */
export interface Surroundings {
  /** Waits until the text is written: a list may not fit into the pipe's buffer. */
  print(text: string): Promise<void>;
  printError(text: string): void;
  /** Only for a command that runs, not for help or wrong usage. */
  loadSettings(): void;
}

/** Runs a command and returns its exit code. */
export async function runProgram(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    return await perform(argv, surroundings);
  } catch (error) {
    const json = argv.includes('--json');
    const text = explain(error, json);
    surroundings.printError(json ? JSON.stringify({ error: text }) : text);
    return error instanceof UsageError ? EXIT.usage : EXIT.failure;
  }
}

async function perform(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { print, loadSettings } = surroundings;
  const words = [...argv];
  const leading = new Set<string>();
  while (words[0] !== undefined && /^(--json|--help|-h|--version)$/.test(words[0]))
    leading.add(words.shift()!);
  if (leading.has('--version') || words[0] === 'version') {
    await print(leading.has('--json') ? JSON.stringify({ version: VERSION }) : VERSION);
    return EXIT.ok;
  }
  const wantsHelp = words[0] === 'help' || leading.has('--help') || leading.has('-h');
  if (words[0] === 'help') words.shift();

  const [group, ...rest] = words;
  if (group === undefined) {
    await print(overview());
    return EXIT.ok;
  }
  const entry = lookUp(COMMANDS, group);
  const file = await entry.load();

  if ('commands' in file && (rest[0] === undefined || rest[0].startsWith('-'))) {
    if (!wantsHelp && rest[0] !== '--help' && rest[0] !== '-h') {
      throw new UsageError(`"${group}" needs a command: ${Object.keys(file.commands).join(', ')}.`);
    }
    await print(groupHelp(group, file.commands));
    return EXIT.ok;
  }
  const name = 'commands' in file ? `${group} ${rest[0]}` : group;
  const command = 'commands' in file ? lookUp(file.commands, rest.shift()!, group) : file.command;
  const read = wantsHelp ? { help: true as const } : readArguments(name, command, rest);
  if (read.help) {
    await print(helpOf(name, command));
    return EXIT.ok;
  }
  loadSettings();
  const json = read.json || leading.has('--json');
  return show(await command.run(read.given, { json }), json, print);
}

function lookUp<T>(table: Readonly<Record<string, T>>, word: string, group?: string): T {
  const found = Object.hasOwn(table, word) ? table[word] : undefined;
  if (found) return found;
  if (word.startsWith('-')) throw new UsageError('Write the command first, then its options.');
  const full = (name: string) => (group === undefined ? name : `${group} ${name}`);
  const near = nearest(word, Object.keys(table));
  const hint = near
    ? `Did you mean "${full(near)}"?`
    : `Commands: ${Object.keys(table).map(full).join(', ')}.`;
  throw new UsageError(`There is no command "${full(word)}". ${hint}`);
}

const list = (rows: [string, string][]) => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`).join('\n');
};

const overview = () => `Deskbell ${VERSION}

Usage: ${PROGRAM} COMMAND [ARGUMENTS] [OPTIONS]

Commands:
${list(Object.entries(COMMANDS).map(([name, { about }]) => [name, about]))}

Every command takes --help and --json.${PACKAGED ? '' : ' For scripts: npm run --silent deskbell -- …, or bin/deskbell.'}
${settingsHelp()}`;

const groupHelp = (group: string, commands: Readonly<Record<string, Command>>) =>
  `Usage: ${PROGRAM} ${group} COMMAND

Commands:
${list(Object.entries(commands).map(([name, { about, arguments: names }]) => [[group, name, ...names].join(' '), about]))}

"${PROGRAM} ${group} COMMAND --help" shows more.`;

async function show(outcome: Outcome, json: boolean, print: Surroundings['print']): Promise<number> {
  if ('silent' in outcome) return EXIT.ok;
  if ('text' in outcome) {
    await print(json ? JSON.stringify(outcome.json, null, 2) : outcome.text);
    return outcome.failed ? EXIT.failure : EXIT.ok;
  }
  const table = createTable(outcome.columns);
  let any = false;
  for await (const page of outcome.pages) {
    if (page.length === 0) continue;
    const rows = json ? page.map((row) => JSON.stringify(row)).join(',\n') : table(page);
    await print(json ? `${any ? ',' : '['}\n${rows}` : rows);
    any = true;
  }
  if (json) await print(any ? ']' : '[]');
  else if (!any) await print(outcome.none);
  return EXIT.ok;
}

/** One clear sentence for a wrong call; a stack trace only for a bug. */
function explain(error: unknown, json: boolean): string {
  if (error instanceof ConfigError) return error.problems.join('\n');
  const plain = [UsageError, Failure, DatabaseProblem, VaultError];
  if (error instanceof Error && plain.some((kind) => error instanceof kind)) return error.message;
  const { message, stack } = error as Error;
  return databaseMessage(error) ?? systemProblem(error) ?? (json ? message : (stack ?? message));
}
