import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { conversationOf, MANY, MERCHANTS, NOTIFICATIONS, QUESTIONS } from './data.ts';
import { type Instance, openInstance } from './instance.ts';
import { waitUntilSent } from './messages.ts';

/**
 * A long load test: customers ask, merchants read and answer, messages go out, at 60% of the maximum rate. At the end
 * latency and memory must be the same as at the beginning.
 */

const SHARE = 0.6;
const MAXIMUM_SECONDS = 20;
const SAMPLE_MS = 5000;
/** The minutes compared at both ends. The first minute is left out as a warm-up. */
const END_MINUTES = 5;

interface Minute {
  requests: number;
  p50Ms: number;
  p99Ms: number;
}

export interface SoakReport {
  /** Each question is five requests. */
  questionsPerSecond: { max: number; actual: number };
  minutes: Minute[];
  megabytes: number[];
  errors: number;
  p99DriftPercent: number;
  megabytesPerMinute: number;
}

export async function soak(postgresUrl: string, minutes: number): Promise<SoakReport> {
  const instance = await openInstance('postgres', { notifications: NOTIFICATIONS, postgresUrl, sends: true });
  const client = createClient(instance);
  const max = await client.measureMax(MAXIMUM_SECONDS);
  const actual = max * SHARE;
  console.log(
    `${max.toFixed(0)} questions a second at most; now ${actual.toFixed(0)} for ${minutes} minutes`,
  );
  client.take();

  const megabytes: number[] = [];
  const sampling = setInterval(() => megabytes.push(instance.server.residentMegabytes()), SAMPLE_MS);
  const done: Minute[] = [];
  const startedAt = performance.now();
  for (let started = 0; done.length < minutes; ) {
    const passed = performance.now() - startedAt;
    for (; started < (passed / 1000) * actual; started += 1) client.ask();
    if (passed >= (done.length + 1) * 60_000) {
      const minute = client.take();
      done.push(minute);
      console.log(
        `minute ${done.length}: ${minute.requests} requests, p50 ${minute.p50Ms.toFixed(1)} ms, ` +
          `p99 ${minute.p99Ms.toFixed(1)} ms, ${instance.server.residentMegabytes().toFixed(0)} MB`,
      );
    }
    await sleep(1);
  }
  clearInterval(sampling);
  const p99Ms = (list: readonly Minute[]) => median(list.map((minute) => minute.p99Ms));
  return {
    questionsPerSecond: { max, actual },
    minutes: done,
    megabytes,
    errors: client.errors(),
    p99DriftPercent: (p99Ms(done.slice(-END_MINUTES)) / p99Ms(done.slice(1, 1 + END_MINUTES)) - 1) * 100,
    megabytesPerMinute: slope(megabytes.slice(END_MINUTES * 12)) * (60_000 / SAMPLE_MS),
  };
}

function createClient({ server, tokens }: Instance) {
  const agent = new Agent({ keepAlive: true, maxSockets: MANY });
  let latencies: number[] = [];
  let errors = 0;
  let questions = 0;

  function call(token: string, method: string, path: string, body?: string): Promise<string | undefined> {
    const sentAt = performance.now();
    return new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const sent = httpRequest({ port: server.port, agent, method, path, headers }, (response) => {
        response.resume().once('end', () => {
          if (response.statusCode !== 200) errors += 1;
          latencies.push(performance.now() - sentAt);
          resolve(response.headers.location);
        });
      });
      sent.once('error', () => {
        errors += 1;
        resolve(undefined);
      });
      sent.end(body);
    });
  }

  /** Everything from a question to its answer. */
  async function ask(): Promise<void> {
    questions += 1;
    const merchant = 1 + (questions % MERCHANTS);
    const token = tokens[merchant - 1]!;
    const question = QUESTIONS[questions % QUESTIONS.length];
    const raised = await call(
      token,
      'POST',
      '/api/v1/notification/request',
      JSON.stringify({
        notification_type: 'user_question_request',
        conversation_id: conversationOf(merchant, questions % 100),
        context: { question },
      }),
    );
    await call(token, 'GET', '/api/v1/auth/me');
    await call(token, 'GET', '/api/v1/notification/?status=requested');
    if (raised) await call(token, 'POST', `${raised}/answer`, '{"answer":"Yes, choose it at checkout."}');
    await call(token, 'GET', '/api/v1/notification/?status=requested');
  }

  return {
    ask,
    errors: () => errors,
    /** The figures since the last call. */
    take(): Minute {
      const sorted = latencies.toSorted((a, b) => a - b);
      latencies = [];
      const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
      return { requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) };
    },
    /** Questions a second with 32 connections, including the time until the last message is sent. */
    async measureMax(seconds: number): Promise<number> {
      const startedAt = performance.now();
      const before = questions;
      const loop = async () => {
        while (performance.now() - startedAt < seconds * 1000) await ask();
      };
      await Promise.all(Array.from({ length: MANY }, loop));
      await waitUntilSent(server.url);
      return (questions - before) / ((performance.now() - startedAt) / 1000);
    },
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The slope of the regression line, per step. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let products = 0;
  let squares = 0;
  for (const [index, value] of values.entries()) {
    products += (index - middle) * (value - mean);
    squares += (index - middle) ** 2;
  }
  return products / squares;
}
