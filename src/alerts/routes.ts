import { merchantOf, personOf, requireMerchant, userOf } from '../auth/guard.ts';
import {
  AlertKey,
  AlertSettings,
  AlertSettingsChange,
  EndpointBody,
  SUBSCRIPTIONS_MAX,
  SubscriptionBody,
} from '../contract/alerts.ts';
import { MessageOf } from '../contract/common.ts';
import type { MerchantId, UserId } from '../contract/ids.ts';
import type { Database } from '../database/database.ts';
import { enqueueEvents } from '../delivery/queue/endpointEvents.ts';
import type { Outbox } from '../delivery/queue/enqueue.ts';
import { invalid, noDevices, required, tooManyDevices } from '../errors.ts';
import { type App, route } from '../http/openapi.ts';
import type { Vault } from '../secrets.ts';
import { alertDelivery } from './dispatch.ts';
import { followEvents } from './positions.ts';
import { isTimeZone } from './quietHours.ts';
import { checkBrowser, endpointIn, endpointInvalid, keysInvalid } from './rules.ts';
import { changeSettings, findSettings, type Settings } from './settings.ts';
import { listOwn, subscribe, unsubscribe } from './subscriptions.ts';
import type { VapidKeys } from './vapid.ts';

export interface AlertRouteParts {
  database: Database;
  vault: Vault;
  outbox: Pick<Outbox, 'announce'>;
  vapidKeys: () => Promise<VapidKeys>;
  noteLooked: (merchantId: MerchantId, at: Date) => Promise<void>;
  pushAllowPrivate: boolean;
  mailAvailable: boolean;
  now: () => Date;
}

const timeZoneInvalid = () =>
  invalid(
    'quiet_hours',
    'time_zone must be an IANA name such as Europe/Madrid, and from must differ from to',
  );

/** How a person hears of questions while the dashboard is closed. For people, each for themselves. */
export async function alertRoutes(app: App, parts: AlertRouteParts): Promise<void> {
  const { database, vault, outbox, vapidKeys, noteLooked, pushAllowPrivate, mailAvailable, now } = parts;

  const viewOf = async (merchantId: MerchantId, userId: UserId, settings: Settings) => ({
    ...settings,
    devices: (await listOwn(database, merchantId, userId)).length,
    mail_available: mailAvailable,
  });

  requireMerchant(app);

  app.get(
    '/key',
    route('alerts', 'Get the key for subscriptions', {
      operationId: 'getAlertKey',
      description: 'A browser needs it to subscribe to alerts of this server.',
      response: { 200: AlertKey },
    }),
    async () => ({ public_key: (await vapidKeys()).publicKey }),
  );

  app.put(
    '/subscriptions',
    route('alerts', 'Send alerts to this browser', {
      operationId: 'addSubscription',
      description:
        `A person can have ${SUBSCRIPTIONS_MAX} browsers. One that is known already is replaced. It ends with the ` +
        'session, and when the browser says so.',
      errors: [endpointInvalid(), keysInvalid(), tooManyDevices(SUBSCRIPTIONS_MAX)],
      body: SubscriptionBody,
      response: { 200: MessageOf('This browser gets alerts.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const { userId, sessionId } = personOf(request);
      const { language = 'en', ...browser } = request.body;
      const checked = checkBrowser(browser, pushAllowPrivate);
      await followEvents(database, merchantId, now());
      await subscribe(database, vault, merchantId, {
        ...{ userId, sessionId, browser: checked, language, at: now() },
      });
      return { message: 'This browser gets alerts.' };
    },
  );

  app.delete(
    '/subscriptions',
    route('alerts', 'Send no more alerts to this browser', {
      operationId: 'removeSubscription',
      description: 'What waits for it is not sent any more. It is no error if it gets none.',
      errors: [required('endpoint'), endpointInvalid()],
      body: EndpointBody,
      response: { 200: MessageOf('This browser gets no alerts.') },
    }),
    async (request) => {
      await unsubscribe(database, vault, merchantOf(request), userOf(request), endpointIn(request.body));
      return { message: 'This browser gets no alerts.' };
    },
  );

  app.get(
    '/settings',
    route('alerts', 'Get your alert settings', {
      operationId: 'getAlertSettings',
      description: 'What you are told of, and how.',
      response: { 200: AlertSettings },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const userId = userOf(request);
      return viewOf(merchantId, userId, await findSettings(database, merchantId, userId));
    },
  );

  app.patch(
    '/settings',
    route('alerts', 'Change your alert settings', {
      operationId: 'changeAlertSettings',
      description: 'Only the fields that are given.',
      errors: [invalid('email_after_minutes', 'email_after_minutes must be integer'), timeZoneInvalid()],
      body: AlertSettingsChange,
      response: { 200: AlertSettings },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const userId = userOf(request);
      const change = request.body;
      const { quiet_hours: quiet } = change;
      if (quiet && quiet !== 'shop' && (!isTimeZone(quiet.time_zone) || quiet.from === quiet.to))
        throw timeZoneInvalid();
      if (change.email_after_minutes) await followEvents(database, merchantId, now());
      const settings = await database.transaction((tx) => changeSettings(tx, merchantId, userId, change));
      return viewOf(merchantId, userId, settings);
    },
  );

  app.post(
    '/test',
    route('alerts', 'Send yourself a test alert', {
      operationId: 'sendTestAlert',
      description: 'To all your browsers, also in quiet hours.',
      errors: [noDevices()],
      response: { 200: MessageOf('A test alert is on its way.') },
    }),
    async (request) => {
      const merchantId = merchantOf(request);
      const ids = await listOwn(database, merchantId, userOf(request));
      if (ids.length === 0) throw noDevices();
      const at = now();
      const deliveries = ids.map((id) =>
        alertDelivery(id, { kind: 'test' }, `t${at.getTime().toString(36)}`),
      );
      await database.transaction((tx) => enqueueEvents(tx, merchantId, deliveries, at));
      outbox.announce();
      return { message: 'A test alert is on its way.' };
    },
  );

  app.put(
    '/looked',
    route('alerts', 'Say that you look at the inbox', {
      operationId: 'noteLooked',
      description:
        'The dashboard sends it while somebody looks. E-mails are only about questions that nobody has seen.',
      response: { 200: MessageOf('Noted.') },
    }),
    async (request) => {
      // For people only.
      userOf(request);
      await noteLooked(merchantOf(request), now());
      return { message: 'Noted.' };
    },
  );
}
