import { createServer } from 'node:http';
import { toNodeHandler } from 'better-auth/node';
import { auth } from './auth.mjs';

createServer(toNodeHandler(auth)).listen(Number(process.env.PORT), '127.0.0.1');
