import { testShort } from './short.ts';
import { tokens } from './tokens.ts';

testShort(tokens);
