import { nearest } from './nearest.ts';
import { fileSettingOf, SECRET_SETTINGS } from './secretFiles.ts';
import type { Environment } from './values.ts';

/** A variable that looks like one of our settings, but is none. Probably a typing mistake. */
export interface UnknownSetting {
  name: string;
  /** What was probably meant. */
  near: string | undefined;
}

/** Only commands read them. */
const OF_COMMANDS = ['DESKBELL_URL', 'DESKBELL_KEY'];
/** Names that begin like this are probably meant for us. */
const PREFIXES =
  /^(DESKBELL|DATABASE|SECRET_?KEY|WHATSAPP|WEBHOOK|EMBEDDINGS|SMTP|METRICS|WORKER|RETENTION)_/i;
/** Of an exporter that is in use: a part of the standard that we do not support, such as compression. */
const OF_OTLP = /^OTEL_EXPORTER_OTLP_/;
const OTLP_ENDPOINT = /^OTEL_EXPORTER_OTLP_(\w+_)?ENDPOINT$/;
/** What Kubernetes sets for each service of its namespace, such as DESKBELL_SERVICE_HOST. */
const OF_KUBERNETES = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP)/;
/** A shorter name is too similar to many others. */
const LENGTH_MIN = 7;

/** `read` are the names of all settings. The values are never shown. */
export function unknownSettings(env: Environment, read: ReadonlySet<string>): UnknownSetting[] {
  const known = [...new Set([...read, ...OF_COMMANDS, ...SECRET_SETTINGS])];
  const all = new Set([...known, ...SECRET_SETTINGS.map(fileSettingOf)]);
  const exports = Object.keys(env).some((name) => OTLP_ENDPOINT.test(name) && env[name]?.trim());
  return Object.keys(env)
    .filter((name) => !all.has(name) && !OF_KUBERNETES.test(name) && !env[name]?.startsWith('tcp://'))
    .sort()
    .flatMap((name): UnknownSetting[] => {
      // Only secrets may be in a file.
      const [, base = ''] = /^(\w+)_FILE$/.exec(name) ?? [];
      if (known.includes(base)) return [{ name, near: base }];
      const near = nearest(name, [...all]);
      const isClose = near !== undefined && name.length >= LENGTH_MIN && areClose(name, near);
      if (isClose || PREFIXES.test(name)) return [{ name, near }];
      return exports && OF_OTLP.test(name) ? [{ name, near: undefined }] : [];
    });
}

/** The same but for one character, upper and lower case, and underscores. */
function areClose(name: string, setting: string): boolean {
  const bare = (text: string) => text.replaceAll('_', '').toLowerCase();
  return nearest(bare(name), [bare(setting)], 1) !== undefined;
}
