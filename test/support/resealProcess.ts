/** A worker of its own that encrypts everything again. With killAtCommit.ts it is killed on the way. */
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/open.ts';
import { startJobs } from '../../src/jobs/runner.ts';
import { createLogger } from '../../src/log.ts';
import { resealRegularly } from '../../src/reseal.ts';
import { createVault } from '../../src/secrets.ts';

const config = readConfig();
const vault = createVault(config.secretKey!, config.secretKeyPrevious);
vault.change!.sealWithCurrent();
const database = await openDatabase(config, 'command');
// As if this were the only process.
const alone = { ...database, countAnnounced: async () => 1 };
const log = createLogger({ logLevel: 'silent', logPretty: false });
const job = resealRegularly({ database: alone, vault, log, everyMs: 1 })!;
startJobs([job], { database, log, now: () => new Date() });
// It ends only when it is killed.
setInterval(() => {}, 1000);
