import password from 'parse-server/lib/password.js';
import { PASSWORD } from '../../data.ts';
import { printHashCost } from '../../hashing.ts';

const hash = await password.hash(PASSWORD);
await printHashCost('bcrypt, cost 10', () => password.compare(PASSWORD, hash));
