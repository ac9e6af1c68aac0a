import { type ChannelDescriptor, DOUBLING_PAUSES_SECONDS } from '../channel.ts';
import { openSimulator } from './channel.ts';

export const SIMULATOR: ChannelDescriptor = {
  name: 'simulator',
  about: 'A test phone inside Deskbell, for trying things out. It reaches no real customer',
  fix: 'Choose another channel',
  isRemote: false,
  reportsStatus: false,
  retryPausesSeconds: DOUBLING_PAUSES_SECONDS,
  fields: [],
  open: (_settings, parts) => ({ type: SIMULATOR, ...openSimulator(parts) }),
  inbound: {
    prefix: '/api/v1/simulator',
    routes: async () => (await import('./routes.ts')).simulatorRoutes,
  },
};
