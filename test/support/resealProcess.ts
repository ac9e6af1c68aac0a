/** A worker of its own that encrypts everything again. With killAtCommit.ts it is killed on the way. */
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createLogger } from '../../src/log.ts';
import { startResealing } from '../../src/reseal.ts';
import { createVault } from '../../src/secrets.ts';

const config = readConfig();
const vault = createVault(config.secretKey!, config.secretKeyPrevious);
vault.change!.sealWithCurrent();
const database = await openDatabase(config, 'command');
// As if this were the only process.
const alone = { ...database, countAnnounced: async () => 1 };
startResealing({
  database: alone,
  vault,
  log: createLogger({ logLevel: 'silent', logPretty: false }),
  lookEveryMs: 1,
});
// It ends only when it is killed.
setInterval(() => {}, 1000);
