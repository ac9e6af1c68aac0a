import bcrypt from 'bcrypt';
import { PASSWORD } from '../../data.ts';
import { printHashCost } from '../../hashing.ts';

const COST = 10;
const hash = await bcrypt.hash(PASSWORD, COST);
await printHashCost(`bcrypt, cost ${COST}`, () => bcrypt.compare(PASSWORD, hash));
