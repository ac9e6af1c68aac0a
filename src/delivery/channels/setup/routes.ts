import { recordEvent } from '../../../audit/record.ts';
import { merchantOf, requireOwner, whoOf } from '../../../auth/guard.ts';
import {
  ChannelSetup,
  ChannelTemplate,
  ChannelTest,
  ChannelToTest,
  ChannelTypes,
} from '../../../contract/channel.ts';
import { MessageOf } from '../../../contract/common.ts';
import type { MerchantId } from '../../../contract/ids.ts';
import type { Database } from '../../../database/database.ts';
import { channelTestFailed, channelUnknown, ownerRequired, required } from '../../../errors.ts';
import { createFairSlots } from '../../../http/limits/fairSlots.ts';
import { type App, route } from '../../../http/openapi.ts';
import type { Vault } from '../../../secrets.ts';
import { lookAgainAtAll } from '../../queue/release.ts';
import type { Channel } from '../channel.ts';
import { findDescriptor } from '../descriptors.ts';
import type { Channels } from '../merchantChannels.ts';
import { removeOwnChannel, setOwnChannel } from '../settings.ts';
import { channelTypes, type OperatorSettings, readSetup, testChannel } from './read.ts';

export interface SetupParts {
  database: Database;
  vault: Vault;
  channels: Channels;
  operatorSettings: OperatorSettings;
  publicUrl: string | undefined;
  now: () => Date;
}

/** A test calls somebody else's server. Each merchant has a turn. */
const TESTS_AT_ONCE = 8;
const TESTS_WAITING_MAX = 100;
/** Shorter than a request may take. */
const TIMEOUT_MS = 4000;

const NOT_NEEDED = 'This channel needs no template.';

/** Owners set up the channel of their shop. */
export async function channelSetupRoutes(app: App, parts: SetupParts): Promise<void> {
  const { database, vault, channels, operatorSettings, publicUrl, now } = parts;
  const withSlot = createFairSlots(TESTS_AT_ONCE, TESTS_WAITING_MAX);
  const test = (merchantId: MerchantId, channel: Channel) =>
    withSlot({ group: String(merchantId), isKnown: true }, () => testChannel(channel));

  /** The given settings, and a channel that is open only for the test. */
  async function readGiven(merchantId: MerchantId, given: ChannelSetup) {
    const { channel, settings: stored, own } = await channels.describe(merchantId);
    const known = own ? { channel: channel.type.name, settings: stored } : undefined;
    const { type, settings } = readSetup(given, known, operatorSettings);
    return { type, settings, channel: type.open(settings, { database, now, timeoutMs: TIMEOUT_MS }) };
  }

  requireOwner(app);

  app.get(
    '/channel/types',
    route('deliveries', 'List the channels that can be set up', {
      operationId: 'listChannelTypes',
      description: 'For owners. The kinds of channels, and what each needs.',
      errors: [ownerRequired()],
      response: { 200: ChannelTypes },
    }),
    async ({ protocol, host }) => channelTypes(publicUrl ?? `${protocol}://${host}`),
  );

  app.get(
    '/channel/template',
    route('deliveries', 'Get the template', {
      operationId: 'getChannelTemplate',
      description:
        'For owners. The template of the channel that is in use, as WhatsApp has it now: its text, its language, and ' +
        'whether it is approved.',
      errors: [ownerRequired()],
      response: { 200: ChannelTemplate },
    }),
    async (request): Promise<ChannelTemplate> => {
      const merchantId = merchantOf(request);
      const { channel: inUse, settings } = await channels.describe(merchantId);
      const type = findDescriptor(inUse.type.name)!;
      // Opened again, with a shorter time to wait than for a message.
      const channel = type.open(settings, { database, now, timeoutMs: TIMEOUT_MS });
      const read = channel.template;
      if (!read) return { name: null, language: null, state: 'none', reason: NOT_NEEDED, text: null };
      return withSlot({ group: String(merchantId), isKnown: true }, read);
    },
  );

  app.post(
    '/channel/test',
    {
      preValidation: async (request) => {
        request.body ??= {};
      },
      ...route('deliveries', 'Test the channel', {
        operationId: 'testChannel',
        description:
          'For owners. Sends nothing to a customer: WhatsApp is asked for the number, a webhook gets a signed ' +
          '`channel.test` and must answer with 2xx. With a body it tests these settings and does not store them, ' +
          'without one the channel that is in use.',
        errors: [ownerRequired(), channelUnknown()],
        optionalBody: true,
        body: ChannelToTest,
        response: { 200: ChannelTest },
      }),
    },
    async (request) => {
      const merchantId = merchantOf(request);
      const { channel: name, settings = {} } = request.body;
      if (name === undefined) return test(merchantId, await channels.readAgain(merchantId));
      const { channel } = await readGiven(merchantId, { channel: name, settings });
      return test(merchantId, channel);
    },
  );

  app.put(
    '/channel',
    route('deliveries', 'Set up the channel', {
      operationId: 'setChannel',
      description:
        'For owners. Tests the settings first and stores them only if they work, so that nobody can use the number ' +
        'or the address of somebody else.',
      errors: [
        ownerRequired(),
        channelUnknown(),
        required('channel'),
        channelTestFailed('The access token has expired or is not valid.', 'settings.token'),
      ],
      body: ChannelSetup,
      response: { 200: MessageOf('Your channel is set up.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const { type, settings, channel } = await readGiven(merchantId, request.body);
      const { reason, field } = await test(merchantId, channel);
      if (reason !== null) throw channelTestFailed(reason, field);
      const at = now();
      await database.transaction(async (tx) => {
        await setOwnChannel(tx, vault, merchantId, { type, settings }, at);
        const about = { channel: type.name };
        await recordEvent(tx, { what: 'channel.changed', merchantId, who: whoOf(request), at, about });
      });
      await lookAgainAtAll(database, merchantId, 'customer', at);
      channels.changed(merchantId);
      return { message: 'Your channel is set up.' };
    },
  );

  app.delete(
    '/channel',
    route('deliveries', 'Remove the channel', {
      operationId: 'removeChannel',
      description: 'For owners. The merchant uses the operator’s channel again.',
      errors: [ownerRequired()],
      response: { 200: MessageOf('Your channel was removed.', 'You have no channel of your own.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const at = now();
      const had = await database.transaction(async (tx) => {
        const removed = await removeOwnChannel(tx, merchantId, at);
        if (removed) await recordEvent(tx, { what: 'channel.removed', merchantId, who: whoOf(request), at });
        return removed;
      });
      if (had) await lookAgainAtAll(database, merchantId, 'customer', at);
      channels.changed(merchantId);
      return { message: had ? 'Your channel was removed.' : 'You have no channel of your own.' };
    },
  );
}
