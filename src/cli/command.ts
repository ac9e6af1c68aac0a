import type { Column } from './terminal.ts';

export { PROGRAM } from '../installation.ts';

export type Option =
  | { type: 'boolean'; about: string }
  | { type: 'string'; value: string; about: string; required?: true };
type Options = Readonly<Record<string, Option>>;

/** Options and arguments by name, with the types of the definition. */
type Given<O extends Options, A extends string, B extends string> = {
  readonly [K in keyof O]: O[K] extends { type: 'boolean' }
    ? boolean
    : O[K] extends { required: true }
      ? string
      : string | undefined;
} & { readonly [K in A]: string } & { readonly [K in B]?: string };

/** Options of all commands. */
export interface Setting {
  json: boolean;
}

/** Commands do not print. People get the text, scripts the JSON. */
export type Outcome =
  | { text: string; json: unknown; failed?: boolean }
  | { columns: readonly Column[]; pages: Pages; none: string }
  /** It has written its output itself. */
  | { silent: true };

/** A list may not fit into memory, so it has pages. */
type Pages = AsyncIterable<readonly object[]> | Iterable<readonly object[]>;

export interface Command {
  about: string;
  /** Longer text for `--help`. */
  details?: string;
  arguments: readonly string[];
  optionalArguments: readonly string[];
  options: Options;
  /** Options that people may try, and why they do not exist. */
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
  /** They come after the others. */
  optionalArguments?: readonly B[];
  options?: O;
  refused?: Readonly<Record<string, string>>;
  run(given: Given<O, A, B>, setting: Setting): Promise<Outcome>;
}): Command {
  return { arguments: [], optionalArguments: [], options: {}, ...definition } as Command;
}

/** A file of commands: one, or several under its name. */
export type CommandFile = { command: Command } | { commands: Readonly<Record<string, Command>> };

/** Wrong arguments: exit code 2. */
export class UsageError extends Error {}

/** The command failed: exit code 1. */
export class Failure extends Error {}
