import { hashPassword, verifyPassword } from 'better-auth/crypto';
import { PASSWORD } from '../../data.ts';
import { printHashCost } from '../../hashing.ts';

const hash = await hashPassword(PASSWORD);
await printHashCost('scrypt, N 16384, r 16, p 1', () => verifyPassword({ hash, password: PASSWORD }));
