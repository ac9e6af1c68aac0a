import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { Environment } from './values.ts';

/** Settings that may contain a secret. Each may be in a file instead: `SECRET_KEY_FILE` names the file of `SECRET_KEY`. */
export const SECRET_SETTINGS = [
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'REDIS_URL',
  'METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
  'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
  'SMTP_URL',
  'EMBEDDINGS_API_KEY',
  'WEBHOOK_URL',
  'WEBHOOK_SECRET',
  'WHATSAPP_TOKEN',
  'WHATSAPP_APP_SECRET',
  'WHATSAPP_VERIFY_TOKEN',
  'DESKBELL_KEY',
] as const;

export const fileSettingOf = (name: string): string => `${name}_FILE`;

/** Longer than any secret or address. A larger file is a mistake, and is not read. */
const BYTES_MAX = 16_384;

/** The environment with the content of these files. A mistake becomes a line in `problems`, never with the content. */
export function withSecretFiles(env: Environment, problems: string[]): Environment {
  const read: Record<string, string> = {};
  for (const name of SECRET_SETTINGS) {
    const setting = fileSettingOf(name);
    const file = env[setting]?.trim();
    if (!file) continue;
    if (env[name]?.trim()) {
      problems.push(`${setting} must not be set together with ${name}. Remove one of them.`);
      continue;
    }
    try {
      read[name] = readSecret(file);
    } catch (error) {
      problems.push(`${setting} cannot be used: the file ${file} ${reasonOf(error as Error)}.`);
    }
  }
  return Object.keys(read).length === 0 ? env : { ...env, ...read };
}

/** Docker and Podman put secrets here, for everybody in the container. */
const CONTAINER_FOLDER = /^\/(var\/)?run\/secrets\//;

/** The settings whose files every user of this machine can read. */
export const openSecretFiles = (env: Environment): string[] =>
  SECRET_SETTINGS.map(fileSettingOf).filter((setting) => {
    const file = env[setting]?.trim();
    if (!file || CONTAINER_FOLDER.test(file)) return false;
    return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
  });

class Unusable extends Error {}

function readSecret(file: string): string {
  // Opening a pipe would wait for somebody who writes to it.
  const stats = statSync(file);
  if (!stats.isFile()) throw new Unusable(stats.isDirectory() ? 'is a folder' : 'is not a regular file');
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(BYTES_MAX + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    if (length > BYTES_MAX) throw new Unusable(`is larger than ${BYTES_MAX} bytes`);
    const text = bytes.toString('utf8', 0, length).trim();
    if (text === '') throw new Unusable('is empty');
    if (/[\0\r\n]/.test(text)) throw new Unusable('must have one line');
    return text;
  } finally {
    closeSync(descriptor);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read by this user',
};

const reasonOf = (error: NodeJS.ErrnoException): string =>
  error instanceof Unusable
    ? error.message
    : (REASONS[error.code ?? ''] ?? `cannot be read (${error.code ?? error.name})`);
