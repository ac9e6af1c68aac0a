import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildApp, type Parts } from '../app.ts';
import { readConfig } from '../config.ts';
import { openApiText } from '../http/openapi.ts';
import { createLogger } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { command as define } from './command.ts';

const FILE = new URL('../../openapi.json', import.meta.url);

export const command = define({
  about: 'Print the OpenAPI document',
  details: 'The same text that the server gives at /openapi.json. No database is needed.',
  options: { write: { type: 'boolean', about: 'Write it to openapi.json instead, for the repository' } },
  run: async ({ write }) => {
    const document = await openApiDocument();
    if (!write) return { text: document.trimEnd(), json: JSON.parse(document) };
    writeFileSync(FILE, document);
    return { text: 'openapi.json is written.', json: { written: fileURLToPath(FILE) } };
  },
});

/** The app with nothing behind it: its routes are described, never called. */
async function openApiDocument(): Promise<string> {
  const config = readConfig({ RATE_LIMIT_PER_MINUTE: '0' });
  const log = createLogger({ logLevel: 'silent', logPretty: false });
  const app = await buildApp({ config, log, metrics: createMetrics(), now: () => new Date() } as Parts);
  try {
    await app.ready();
    return openApiText(app);
  } finally {
    await app.close();
  }
}
