import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { conversationOf, MANY, MERCHANTS, NOTIFICATIONS, QUESTIONS } from './data.ts';
import { openPlace, type Place } from './place.ts';

/**
 * Half an hour of a busy day: customers ask, merchants look and answer, messages go out, at six tenths of what
 * the service can do at most. What counts is whether it is at the end as it was at the beginning.
 */

const SHARE = 0.6;
const MAXIMUM_SECONDS = 20;
const SAMPLE_MS = 5000;
/** Compared at both ends, the first minute left out: it warms up. */
const END_MINUTES = 5;

interface Minute {
  requests: number;
  p50Ms: number;
  p99Ms: number;
}

export interface SoakReport {
  /** Each is five requests. */
  questionsPerSecond: { most: number; held: number };
  minutes: Minute[];
  megabytes: number[];
  errors: number;
  p99DriftPercent: number;
  megabytesPerMinute: number;
}

export async function soak(postgresUrl: string, minutes: number): Promise<SoakReport> {
  const place = await openPlace('postgres', { notifications: NOTIFICATIONS, postgresUrl, sends: true });
  const client = createClient(place);
  const most = await client.atMost(MAXIMUM_SECONDS);
  const held = most * SHARE;
  console.log(`${most.toFixed(0)} questions a second at most; ${held.toFixed(0)} for ${minutes} minutes`);
  client.take();

  const megabytes: number[] = [];
  const sampling = setInterval(() => megabytes.push(place.server.residentMegabytes()), SAMPLE_MS);
  const told: Minute[] = [];
  const beganAt = performance.now();
  for (let begun = 0; told.length < minutes; ) {
    const passed = performance.now() - beganAt;
    for (; begun < (passed / 1000) * held; begun += 1) client.ask();
    if (passed >= (told.length + 1) * 60_000) {
      const minute = client.take();
      told.push(minute);
      console.log(
        `minute ${told.length}: ${minute.requests} requests, p50 ${minute.p50Ms.toFixed(1)} ms, ` +
          `p99 ${minute.p99Ms.toFixed(1)} ms, ${place.server.residentMegabytes().toFixed(0)} MB`,
      );
    }
    await sleep(1);
  }
  clearInterval(sampling);
  const p99Ms = (some: readonly Minute[]) => median(some.map((minute) => minute.p99Ms));
  return {
    questionsPerSecond: { most, held },
    minutes: told,
    megabytes,
    errors: client.errors(),
    p99DriftPercent: (p99Ms(told.slice(-END_MINUTES)) / p99Ms(told.slice(1, 1 + END_MINUTES)) - 1) * 100,
    megabytesPerMinute: slope(megabytes.slice(END_MINUTES * 12)) * (60_000 / SAMPLE_MS),
  };
}

function createClient({ server, tokens }: Place) {
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

  /** A question from its beginning to its answer. */
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

  async function messagesToSend(): Promise<number> {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^deskbell_deliveries_open (\d+)$/m.exec(metrics)![1]);
  }

  return {
    ask,
    errors: () => errors,
    /** What was measured since the last time. */
    take(): Minute {
      const sorted = latencies.toSorted((a, b) => a - b);
      latencies = [];
      const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
      return { requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) };
    },
    /** Questions a second, as many at once as there are connections, until the last answer has gone out as well. */
    async atMost(seconds: number): Promise<number> {
      const beganAt = performance.now();
      const before = questions;
      const loop = async () => {
        while (performance.now() - beganAt < seconds * 1000) await ask();
      };
      await Promise.all(Array.from({ length: MANY }, loop));
      while ((await messagesToSend()) > 0) await sleep(100);
      return (questions - before) / ((performance.now() - beganAt) / 1000);
    },
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Of the straight line through them, per step. */
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
