import { ParseServer } from 'parse-server';
import { options } from './options.mjs';

await ParseServer.startApp({
  ...options,
  port: Number(process.env.PORT),
  host: '127.0.0.1',
  mountPath: '/parse',
});
