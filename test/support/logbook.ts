import { appendFileSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ChannelDescriptor, DOUBLING_PAUSES_SECONDS } from '../../src/delivery/channels/channel.ts';
import { matches } from '../../src/delivery/channels/fields.ts';

/** A channel that newChannel.test.ts adds, as the file of a new folder in src/delivery/channels would define it. */

type LogbookSettings = { file: string; stamp: string; loud: boolean };

export const LOGBOOK: ChannelDescriptor<LogbookSettings> = {
  name: 'logbook',
  about: 'Appends each message to a file',
  fix: 'Create the folder, or correct the file',
  isRemote: true,
  reportsStatus: false,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
  fields: [
    {
      kind: 'text',
      key: 'file',
      variable: 'LOGBOOK_FILE',
      option: 'file',
      value: 'PATH',
      about: 'the file to append to',
      isValid: matches(/^[/]/),
      mustBe: 'an absolute path',
    },
    { kind: 'flag', key: 'loud', variable: 'LOGBOOK_LOUD', option: 'loud', about: 'write in capitals' },
    {
      kind: 'text',
      key: 'stamp',
      variable: 'LOGBOOK_STAMP',
      option: 'ink-stamp',
      value: 'STAMP',
      about: 'Stamp',
      secret: true,
      isValid: matches(/^.{8,}$/),
      mustBe: 'at least 8 characters',
    },
  ],
  open: ({ file, stamp, loud }) => ({
    type: LOGBOOK,
    id: `logbook:${file}`,
    plan: async () => ({ go: 'text' }),
    async send({ recipient, content }) {
      appendFileSync(file, `${stamp} ${recipient} ${loud ? content.toUpperCase() : content}\n`);
      return { outcome: 'sent', messageId: undefined, state: 'delivered' };
    },
    check: async () => (existsSync(dirname(file)) ? undefined : 'the folder does not exist.'),
  }),
  inbound: {
    prefix: '/logbook',
    routes:
      async () =>
      async (app, { now }) => {
        app.get('/time', { schema: { hide: true } as object }, async () => ({ now: now().toISOString() }));
      },
  },
};

// It fits where all channels are listed.
LOGBOOK satisfies ChannelDescriptor;
