import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildApp, type Parts } from '../app.ts';
import { readConfig } from '../config.ts';
import type { Database } from '../database/database.ts';
import { collectOpenApi, openApiText } from '../http/openapi/document.ts';
import { OPENAPI_FILE } from '../http/openapi.ts';
import { PACKAGED } from '../installation.ts';
import { createLogger } from '../log.ts';
import { createMetrics } from '../metrics.ts';
import { VERSION } from '../version.ts';
import { command as define, UsageError } from './command.ts';

export const command = define({
  about: 'Print the OpenAPI document',
  details: 'The document that the server serves at /openapi.json. Needs no database.',
  options: { write: { type: 'boolean', about: 'Write it to openapi.json in the repository' } },
  run: async ({ write }) => {
    const document = await openApiDocument();
    if (write && PACKAGED) throw new UsageError('--write works only in the repository.');
    if (!write) return { text: document.trimEnd(), json: JSON.parse(document) };
    writeFileSync(OPENAPI_FILE, document);
    return { text: 'openapi.json was written.', json: { written: fileURLToPath(OPENAPI_FILE) } };
  },
});

/** The app without a database: its routes are described, but never called. */
async function openApiDocument(): Promise<string> {
  const config = readConfig({ RATE_LIMIT_PER_MINUTE: '0' });
  const log = createLogger({ logLevel: 'silent', logPretty: false });
  const parts = {
    config,
    log,
    // The routes only ask for its kind.
    database: { engine: 'sqlite' } as Database,
    metrics: createMetrics({ version: VERSION, engine: 'sqlite', role: 'server' }),
    now: () => new Date(),
  } as Parts;
  const app = await buildApp(parts, collectOpenApi);
  try {
    await app.ready();
    return openApiText(app);
  } finally {
    await app.close();
  }
}
