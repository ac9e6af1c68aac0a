import { newSecretKey } from '../secrets.ts';
import { command as define } from './command.ts';

export const command = define({
  about: 'Print a new SECRET_KEY',
  details: 'It is not stored. Add it to your settings and keep a copy.',
  run: async () => {
    const key = newSecretKey();
    return { text: key, json: { secret_key: key } };
  },
});
