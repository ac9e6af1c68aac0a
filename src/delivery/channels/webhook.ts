import type { Channel } from '../channel.ts';
import type { WebhookSettings } from '../settings.ts';
export function createWebhook(_s: WebhookSettings, _p: unknown): Channel {
  throw new Error('not yet');
}
