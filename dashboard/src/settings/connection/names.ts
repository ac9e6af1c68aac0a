import type { TextKey } from '../../i18n/texts.ts';

/** A channel that is not here is shown with the server's name. */
export const CHANNEL_NAMES: Readonly<Record<string, TextKey>> = {
  whatsapp: 'channelWhatsapp',
  webhook: 'channelWebhook',
  simulator: 'channelSimulator',
};
