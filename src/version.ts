import { readFileSync } from 'node:fs';
import { shippedFile } from './installation.ts';

const { version } = JSON.parse(readFileSync(shippedFile('package.json'), 'utf8')) as {
  version: string;
};
export const VERSION = version;
