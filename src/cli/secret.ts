import { newSecretKey } from '../secrets.ts';
import { command as define } from './command.ts';

export const command = define({
  about: 'Print a fresh SECRET_KEY',
  details: 'Nothing is stored: put it into the settings yourself, and keep a copy.',
  run: async () => {
    const key = newSecretKey();
    return { text: key, json: { secret_key: key } };
  },
});
