import { parentPort, workerData } from 'node:worker_threads';
import { passwordProblem } from './policy.ts';

const { password, known } = workerData as { password: string; known: readonly string[] };
parentPort!.postMessage(await passwordProblem(password, known));
