import { readVault } from '../auth/vault.ts';
import type { MerchantId } from '../contract/ids.ts';
import { DESCRIPTORS, findDescriptor } from '../delivery/channels/descriptors.ts';
import { type Channels, createChannels } from '../delivery/channels/merchantChannels.ts';
import { merchantsWithOwnChannel } from '../delivery/channels/settings.ts';
import { readQueueState } from '../delivery/queue/state.ts';
import { listChannelStops, UNTIL_RESUMED } from '../delivery/worker/stops.ts';
import { VaultError } from '../secrets.ts';
import { bad, type Check, type Finding, good, hint, withTables } from './checks.ts';
import { PROGRAM } from './command.ts';
import { count, minute } from './terminal.ts';

const AT_ONCE = 8;
/** A worker claims a due message within seconds. */
const LATE_MS = 60_000;

const channels = withTables(async ({ config, database, now }) => {
  const vault = readVault(config);
  // Another check reports the missing key.
  if (!vault) return [];
  const known = createChannels({ database, vault, now }, config);
  const merchants = await merchantsWithOwnChannel(database);
  const findings = await examine(known, NO_MERCHANT, 'from the settings', 'in the settings.');
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
    findings.push(...good(`${count(own.length - broken.length, 'own channel')} of merchants checked.`));
  }
  return [...findings, ...broken];
});

/** No merchant has this id, so it has the channel from the settings. */
const NO_MERCHANT = 0 as MerchantId;

async function examine(known: Channels, id: MerchantId, whose: string, where: string): Promise<Finding[]> {
  try {
    const channel = await known.of(id);
    const problem = await channel.check();
    return problem === undefined
      ? good(`The channel ${whose}, ${channel.type.name}, works.`)
      : bad(
          `The channel ${whose}, ${channel.type.name}, has a problem: ${problem}`,
          `${findDescriptor(channel.type.name)?.fix ?? 'Correct it'} ${where}`,
        );
  } catch (error) {
    if (error instanceof VaultError) {
      return bad(`The channel ${whose} was encrypted with another SECRET_KEY.`, `Set it again ${where}`);
    }
    return bad(`The channel ${whose} could not be checked.`, `Check its settings ${where}`);
  }
}

const REMOTE = DESCRIPTORS.filter(({ isRemote }) => isRemote).map(({ name }) => name);

const unreachedCustomers: Check = async ({ config }) =>
  config.production && findDescriptor(config.channel.name)?.isRemote === false
    ? hint(
        `CHANNEL is ${config.channel.name}: merchants without their own channel cannot reach real customers.`,
        `Set CHANNEL to ${REMOTE.join(' or ')}.`,
      )
    : [];

const stops = withTables(async ({ database, now }) =>
  (await listChannelStops(database, now())).flatMap(({ channel_id, kind, code, stopped_at, until }) => {
    const since = `since ${minute(stopped_at)} UTC (${code}).`;
    const next = until === UNTIL_RESUMED ? 'It stays stopped.' : `Next try: ${minute(until)} UTC.`;
    return kind === 'refused'
      ? bad(
          `The channel ${channel_id} has refused our messages ${since} ${next}`,
          `Fix the cause, then run "${PROGRAM} channel resume".`,
        )
      : bad(
          `The channel ${channel_id} has not answered ${since} ${next}`,
          'Check the receiving system. The channel is used again as soon as it answers.',
        );
  }),
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
        `${messages}, but no worker sends ${queued === 1 ? 'it: it has' : 'them: the first has'} been due for ${minutes(dueSince)}.`,
        `Start the server or, with WORKER=false, a worker: "${PROGRAM} work".`,
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
        `${count(waitingForLimit, 'message')} waiting for the daily limit.`,
        `"${PROGRAM} channel limit N --merchant ID" raises it, if the channel allows more.`,
      ),
    );
  }
  if (waitingForCustomer > 0) {
    findings.push(
      ...hint(
        `${count(waitingForCustomer, 'message')} waiting for the customer to write again.`,
        'A template can be sent at any time: see WHATSAPP_TEMPLATE.',
      ),
    );
  }
  return findings;
});

export const CHANNEL_CHECKS: readonly Check[] = [unreachedCustomers, channels, stops, queue];
