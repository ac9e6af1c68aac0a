import type { Channel } from '../channel.ts';
import type { WhatsAppSettings } from '../settings.ts';
export function createWhatsApp(_s: WhatsAppSettings, _p: unknown): Channel {
  throw new Error('not yet');
}
