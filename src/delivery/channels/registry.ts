/** All channels, one line each. */
export { SIMULATOR } from './simulator/descriptor.ts';
export { WEBHOOK } from './webhook/descriptor.ts';
export { WHATSAPP } from './whatsapp/descriptor.ts';
