import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileSettingOf, SECRET_SETTINGS } from '../../../src/config/secretFiles.ts';
import { root } from '../process.ts';

/** The names of all settings, and of those that name a secret's file. */
export function settingNames(): Set<string> {
  const example = readFileSync(join(root, '.env.example'), 'utf8');
  const names = [...example.matchAll(/^#([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name!);
  return new Set([...names, ...SECRET_SETTINGS.map(fileSettingOf)]);
}
