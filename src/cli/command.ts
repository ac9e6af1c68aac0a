import type { Column } from './terminal.ts';

/** How the program is called, in every hint that it gives. */
export const PROGRAM = 'npm run deskbell --';

export type Option =
  | { type: 'boolean'; about: string }
  | { type: 'string'; value: string; about: string; required?: true };
type Options = Readonly<Record<string, Option>>;

/** Options and arguments by name, as the definition promises them. */
type Given<O extends Options, A extends string, B extends string> = {
  readonly [K in keyof O]: O[K] extends { type: 'boolean' }
    ? boolean
    : O[K] extends { required: true }
      ? string
      : string | undefined;
} & { readonly [K in A]: string } & { readonly [K in B]?: string };

/** What is common to all commands. */
export interface Setting {
  json: boolean;
}

/** Commands print nothing themselves: a person gets the text, a script the JSON. */
export type Outcome =
  | { text: string; json: unknown; failed?: boolean }
  | { columns: readonly Column[]; pages: Pages; none: string };

/** A list may be longer than memory: it comes in pages. */
type Pages = AsyncIterable<readonly object[]> | Iterable<readonly object[]>;

export interface Command {
  about: string;
  /** More than a line, for `--help`. */
  details?: string;
  arguments: readonly string[];
  optionalArguments: readonly string[];
  options: Options;
  /** Options that somebody may well try, and why there are none such. */
  refused?: Readonly<Record<string, string>>;
  run(given: Record<string, unknown>, setting: Setting): Promise<Outcome>;
}

export function command<
  const O extends Options,
  const A extends string = never,
  const B extends string = never,
>(definition: {
  about: string;
  details?: string;
  arguments?: readonly A[];
  /** They follow the others. */
  optionalArguments?: readonly B[];
  options?: O;
  refused?: Readonly<Record<string, string>>;
  run(given: Given<O, A, B>, setting: Setting): Promise<Outcome>;
}): Command {
  return { arguments: [], optionalArguments: [], options: {}, ...definition } as Command;
}

/** A file of commands: one, or several under its name. */
export type CommandFile = { command: Command } | { commands: Readonly<Record<string, Command>> };

/** The program was called in a way it does not know: exit code 2. */
export class UsageError extends Error {}

/** What was asked for cannot be done: exit code 1. */
export class Failure extends Error {}
