import bcrypt from 'bcrypt';
import { PASSWORD } from '../../data.ts';
import { tellHashes } from '../../hashing.ts';

const COST = 10;
const hash = await bcrypt.hash(PASSWORD, COST);
await tellHashes(`bcrypt, cost ${COST}`, () => bcrypt.compare(PASSWORD, hash));
