import { parseArgs } from 'node:util';
import { nearest } from '../config/nearest.ts';
import { type Command, type Option, PROGRAM, UsageError } from './command.ts';

const EVERYWHERE: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', about: 'Print JSON and nothing else' },
  help: { type: 'boolean', about: 'Show this help' },
};

/** Parses the rest of the command line with the command's definition. */
export function readArguments(name: string, command: Command, args: readonly string[]) {
  const options = { ...command.options, ...EVERYWHERE };
  const { tokens } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(Object.entries(options).map(([key, { type }]) => [key, { type }])),
      help: { type: 'boolean', short: 'h' },
    },
    // Our own messages are more helpful.
    strict: false,
    tokens: true,
  });

  const given: Record<string, unknown> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (!option) throw unknownOption(name, command, token.rawName, Object.keys(options));
    if (Object.hasOwn(given, token.name)) throw new UsageError(`--${token.name} was given twice.`);
    if (option.type === 'boolean') {
      if (token.value !== undefined) throw new UsageError(`--${token.name} takes no value.`);
      given[token.name] = true;
    } else {
      given[token.name] = givenValue(token, option.value);
    }
  }
  if (given.help) return { help: true as const };

  for (const [key, option] of Object.entries(options)) {
    if (option.type === 'boolean') given[key] ??= false;
    else if (option.required && given[key] === undefined) {
      throw new UsageError(`--${key} ${option.value} is required. ${usageHint(name, command)}`);
    }
  }
  // Do not print extra arguments: one may be a password.
  if (positionals.length > command.arguments.length + command.optionalArguments.length) {
    throw new UsageError(`Too many arguments. ${usageHint(name, command)}`);
  }
  for (const [index, key] of command.arguments.entries()) {
    const value = positionals[index];
    if (value === undefined) throw new UsageError(`${key} is missing. ${usageHint(name, command)}`);
    given[key] = value;
  }
  for (const [index, key] of command.optionalArguments.entries()) {
    const value = positionals[command.arguments.length + index];
    if (value !== undefined) given[key] = value;
  }
  return { help: false as const, given, json: given.json === true };
}

function givenValue(
  {
    name,
    value,
    inlineValue,
  }: { name: string; value?: string | undefined; inlineValue?: boolean | undefined },
  placeholder: string,
): string {
  // In `--email --name Alma` the address is missing; it is not "--name".
  const isMissing = value === undefined || (!inlineValue && value.length > 1 && value.startsWith('-'));
  if (isMissing || value.trim() === '')
    throw new UsageError(`--${name} needs a value: --${name} ${placeholder}.`);
  return value;
}

function unknownOption(
  name: string,
  command: Command,
  rawName: string,
  known: readonly string[],
): UsageError {
  const refusal = command.refused?.[rawName.replace(/^-+/, '')];
  if (refusal) return new UsageError(refusal);
  const near = nearest(rawName.replace(/^-+/, ''), known);
  return new UsageError(
    `"${name}" has no option ${rawName}. ${near ? `Did you mean --${near}?` : usageHint(name, command)}`,
  );
}

const usageHint = (name: string, command: Command) => `Usage: ${usageOf(name, command)}`;

function usageOf(name: string, command: Command): string {
  const options = Object.entries(command.options).map(([key, option]) => {
    const text = option.type === 'boolean' ? `--${key}` : `--${key} ${option.value}`;
    return option.type === 'string' && option.required ? text : `[${text}]`;
  });
  const optional = command.optionalArguments.map((key) => `[${key}]`);
  return [PROGRAM, name, ...command.arguments, ...optional, ...options].join(' ');
}

export function helpOf(name: string, command: Command): string {
  const options = Object.entries({ ...command.options, ...EVERYWHERE }).map(([key, option]) => [
    option.type === 'boolean' ? `--${key}` : `--${key} ${option.value}`,
    option.about,
  ]);
  const width = Math.max(...options.map(([left = '']) => left.length));
  return [
    command.about,
    ...(command.details ? ['', command.details] : []),
    '',
    `Usage: ${usageOf(name, command)}`,
    '',
    'Options:',
    ...options.map(([left = '', right]) => `  ${left.padEnd(width)}   ${right}`),
  ].join('\n');
}
