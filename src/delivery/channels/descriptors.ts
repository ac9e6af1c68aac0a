import type { ChannelDescriptor, ChannelType } from './channel.ts';
import * as registry from './registry.ts';

/** In the order of their names. */
export const DESCRIPTORS: readonly ChannelDescriptor[] = Object.values(registry);

export const CHANNEL_NAMES: readonly string[] = DESCRIPTORS.map(({ name }) => name);

export const findDescriptor = (name: string): ChannelDescriptor | undefined =>
  DESCRIPTORS.find((type) => type.name === name);

/** The type of a channel by its id, such as `whatsapp:123` or `simulator`. */
export const channelTypeOf = (channelId: string): ChannelType | undefined =>
  findDescriptor(channelId.split(':', 1)[0]!);
