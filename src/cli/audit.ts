import { listAllEvents, listEvents, type Position, type StoredEvent } from '../audit/store.ts';
import { EVENT_NAMES } from '../contract/auditEvents.ts';
import { command, UsageError } from './command.ts';
import { merchantOf, pagesOf } from './database.ts';
import { minute } from './terminal.ts';

const PAGE_SIZE = 200;

export const commands = {
  list: command({
    about: 'List who did what, newest first',
    details: `Events of all merchants and of the server itself. NAME is one of
${EVENT_NAMES.map((name) => `  ${name}`).join('\n')}
Equal sign-ins and ended sessions within an hour are one event with a count. For all messages in a state, the count is
the number of messages.`,
    options: {
      merchant: { type: 'string', value: 'ID', about: 'Only this merchant’s' },
      what: { type: 'string', value: 'NAME', about: 'Only events with this name' },
      since: { type: 'string', value: 'TIME', about: 'Only since this time, such as 2026-01-15T09:30Z' },
    },
    run: async (given) => {
      const what = EVENT_NAMES.find((name) => name === given.what);
      if (given.what !== undefined && !what) {
        throw new UsageError('--what is the name of an event: see "audit list --help".');
      }
      const since = given.since === undefined ? undefined : new Date(given.since);
      if (since && Number.isNaN(since.getTime()))
        throw new UsageError('--since is a time such as 2026-01-15T09:30Z.');
      return {
        columns: [
          { title: 'AT (UTC)', value: ({ at }) => minute(at) },
          { title: 'MERCHANT', value: ({ merchant_id }) => merchant_id },
          { title: 'WHAT', value: ({ what }) => what },
          { title: 'WHO', value: whoText },
          { title: 'FROM', value: ({ from }) => from },
          { title: 'ABOUT', value: ({ about }) => aboutText(about) },
          { title: 'COUNT', value: ({ count }) => count },
        ],
        pages: pagesOf(async function* (database) {
          const { merchant } = given;
          const merchantId = merchant === undefined ? undefined : (await merchantOf(database, merchant)).id;
          for (let after: Position | undefined; ; ) {
            const filter = { what, userId: undefined, since, after, limit: PAGE_SIZE };
            const page = await (merchantId === undefined
              ? listAllEvents(database, filter)
              : listEvents(database, merchantId, filter));
            yield page.map(shown);
            if (page.length < PAGE_SIZE) return;
            after = page.at(-1)!;
          }
        }),
        none: 'No events found.',
      };
    },
  }),
};

/** Unlike a merchant, an operator sees the names of the system's users. */
function shown({ actor, user_id, name, address, about, merchant_id, ...event }: StoredEvent) {
  return {
    ...event,
    merchant_id: merchant_id || null,
    who: { kind: actor, user_id, name },
    from: address,
    about: JSON.parse(about) as Record<string, string | number>,
  };
}

function whoText({ who: { kind, user_id, name } }: ReturnType<typeof shown>): string {
  if (kind === 'user') return `${name ?? 'a deleted user'} (user ${user_id})`;
  return kind === 'command_line' ? `${name} on the command line` : kind;
}

const aboutText = (about: Record<string, string | number>) =>
  Object.entries(about)
    .map((pair) => pair.join(' '))
    .join(', ') || null;
