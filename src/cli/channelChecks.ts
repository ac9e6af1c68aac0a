import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { MerchantId } from '../contract/ids.ts';
import type { ChannelName } from '../delivery/channels/channel.ts';
import { type Channels, createChannels } from '../delivery/channels/merchantChannels.ts';
import { merchantsWithOwnChannel } from '../delivery/channels/settings.ts';
import { listStops } from '../delivery/queue/endpoints.ts';
import { readQueueState } from '../delivery/queue/state.ts';
import { createVault, VaultError } from '../secrets.ts';
import { bad, type Check, type Finding, good, hint, withTables } from './checks.ts';
import { PROGRAM } from './command.ts';
import { count, minute } from './terminal.ts';

const AT_ONCE = 8;
/** What is due is taken up within seconds, unless nobody works. */
const LATE_MS = 60_000;

const MENDS: Readonly<Record<ChannelName, string>> = {
  simulator: 'Choose another',
  webhook: 'Mend the system there, or correct the address',
  whatsapp: 'Correct the number, its token or the address',
};

const channels = withTables(async ({ config, database, now }) => {
  const vault = readVault(config);
  // Another check has said what is wrong with the key.
  if (!vault) return [];
  const known = createChannels({ database, vault, now }, config);
  const merchants = await merchantsWithOwnChannel(database);
  const findings = await examine(known, NOBODY, 'of the settings', 'in the settings.');
  const own: Finding[] = [];
  for (let from = 0; from < merchants.length; from += AT_ONCE) {
    const some = merchants.slice(from, from + AT_ONCE).map((id) => {
      const fix = `with "${PROGRAM} channel set --merchant ${id} CHANNEL".`;
      return examine(known, id, `of merchant ${id}`, fix);
    });
    own.push(...(await Promise.all(some)).flat());
  }
  const broken = own.filter(({ state }) => state === 'bad');
  if (own.length > broken.length) {
    findings.push(...good(`${count(own.length - broken.length, 'own channel')} of merchants answered.`));
  }
  return [...findings, ...broken];
});

/** No merchant has this id, and so it has the channel of the settings. */
const NOBODY = 0 as MerchantId;

async function examine(known: Channels, id: MerchantId, whose: string, where: string): Promise<Finding[]> {
  try {
    const channel = await known.of(id);
    const problem = await channel.check();
    return problem === undefined
      ? good(`The channel ${whose}, ${channel.type.name}, answers.`)
      : bad(
          `The channel ${whose}, ${channel.type.name}, has a problem: ${problem}`,
          `${MENDS[channel.type.name]} ${where}`,
        );
  } catch (error) {
    if (error instanceof VaultError) {
      return bad(`The channel ${whose} was sealed with another SECRET_KEY.`, `Set it again ${where}`);
    }
    return bad(`The channel ${whose} could not be tested.`, `Look at it ${where}`);
  }
}

function readVault({ secretKey, secretKeyFile }: Config) {
  if (secretKey !== undefined) return createVault(secretKey);
  return existsSync(secretKeyFile) ? createVault(readFileSync(secretKeyFile, 'utf8').trim()) : undefined;
}

const unreachedCustomers: Check = async ({ config }) =>
  config.production && config.channel.name === 'simulator'
    ? hint(
        'CHANNEL is simulator: merchants without a channel of their own reach no customer.',
        'Set CHANNEL to webhook or whatsapp.',
      )
    : [];

const stops = withTables(async ({ database, now }) =>
  (await listStops(database, now())).flatMap(({ channel_id, code, stopped_at, until }) =>
    bad(
      `The channel ${channel_id} refuses us since ${minute(stopped_at)} UTC (${code}); it is left alone until ${minute(until)} UTC.`,
      `Mend it, then run "${PROGRAM} channel resume".`,
    ),
  ),
);

const queue = withTables(async ({ database, now }) => {
  const { queued, oldestAt, dueSince, waitingForLimit, waitingForCustomer } = await readQueueState(
    database,
    now(),
  );
  const findings: Finding[] = [];
  const minutes = (since: string) =>
    count(Math.max(0, Math.floor((now().getTime() - Date.parse(since)) / 60_000)), 'minute');
  const messages = `${count(queued, 'message')} to be sent`;
  if (dueSince !== undefined && now().getTime() - Date.parse(dueSince) > LATE_MS) {
    findings.push(
      ...bad(
        `${messages}, and nobody sends: the first is due for ${minutes(dueSince)}.`,
        `Start the server, or with WORKER=false a worker: "${PROGRAM} work".`,
      ),
    );
  } else if (oldestAt === undefined) {
    findings.push(...good('No message is waiting to be sent.'));
  } else {
    const age = `${messages}; the oldest is ${minutes(oldestAt)} old.`;
    const fix = `If it is not sent soon, "${PROGRAM} delivery list --state queued --merchant ID" says why.`;
    findings.push(...(now().getTime() - Date.parse(oldestAt) > LATE_MS ? hint(age, fix) : good(age)));
  }
  if (waitingForLimit > 0) {
    findings.push(
      ...hint(
        `${count(waitingForLimit, 'message')} waiting for a place in the day’s limit.`,
        `"${PROGRAM} channel limit N --merchant ID" raises it, where the channel allows more.`,
      ),
    );
  }
  if (waitingForCustomer > 0) {
    findings.push(
      ...hint(
        `${count(waitingForCustomer, 'message')} waiting for the customer to write again.`,
        'A template would reach them: see WHATSAPP_TEMPLATE.',
      ),
    );
  }
  return findings;
});

export const CHANNEL_CHECKS: readonly Check[] = [unreachedCustomers, channels, stops, queue];
