import { parentPort, workerData } from 'node:worker_threads';
import { parseChanges } from './bodies.ts';

parentPort!.postMessage(parseChanges(workerData as Uint8Array));
