import { randomFillSync } from 'node:crypto';
import type { TelemetryConfig } from '../config/telemetry.ts';
import type { Attributes, Span, SpanKind, Tracer } from '../tracing.ts';
import { attributesOf, nanos } from './otlp.ts';

/** A finished span, in OTLP's JSON form. */
export type SpanRecord = ReturnType<typeof recordOf>;

const KINDS: Readonly<Record<SpanKind, number>> = {
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
};
const STATUS_ERROR = 2;
const SAMPLED = 1;
/** W3C Trace Context: version, trace id, id of the parent span, flags. Ids of zeros only and version ff are not valid. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/;
const TRACEPARENT_MAX_LENGTH = 200;

interface Parent {
  traceId: string;
  spanId: string;
  isRecorded: boolean;
}

/** What another system has sent as `traceparent`, if it is valid. */
export function parseTraceparent(text: string): Parent | undefined {
  if (text.length > TRACEPARENT_MAX_LENGTH) return undefined;
  // Only later versions may have more parts.
  if (text.startsWith('00') && text.length !== 55) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isRecorded: (Number.parseInt(flags!, 16) & SAMPLED) !== 0 };
}

type Sampling = Pick<TelemetryConfig, 'sampler' | 'samplerRatio'>;

export function createTracer(sampling: Sampling, onEnd: (span: SpanRecord) => void): Tracer {
  return {
    start(name, kind, attributes, given) {
      const parent = typeof given === 'string' ? parseTraceparent(given) : given;
      const traceId = parent?.traceId ?? randomHex(16);
      const isRecorded = isSampled(sampling, traceId, parent);
      // One that is not recorded passes its parent on, so that the next system sees the same trace.
      if (!isRecorded) return silentSpan(traceId, parent?.spanId ?? randomHex(8));
      return recordingSpan({ name, kind, attributes, traceId, parentSpanId: parent?.spanId }, onEnd);
    },
  };
}

function isSampled(
  { sampler, samplerRatio }: Sampling,
  traceId: string,
  parent: Parent | undefined,
): boolean {
  if (sampler.startsWith('parentbased_') && parent) return parent.isRecorded;
  if (sampler.endsWith('always_on')) return true;
  if (sampler.endsWith('always_off')) return false;
  return Number.parseInt(traceId.slice(-13), 16) < samplerRatio * 2 ** 52;
}

interface Started {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  traceId: string;
  parentSpanId: string | undefined;
}

const epochMs = () => performance.timeOrigin + performance.now();

function recordingSpan(started: Started, onEnd: (span: SpanRecord) => void): Span {
  const { traceId } = started;
  const spanId = randomHex(8);
  const startMs = epochMs();
  let attributes = started.attributes;
  let error: string | undefined;
  let isOver = false;
  return {
    traceId,
    spanId,
    isRecorded: true,
    traceparent: `00-${traceId}-${spanId}-01`,
    set(more) {
      attributes = { ...attributes, ...more };
    },
    fail(type) {
      error = type;
    },
    end() {
      if (isOver) return;
      isOver = true;
      onEnd(recordOf({ ...started, attributes }, { spanId, startMs, endMs: epochMs(), error }));
    },
  };
}

function silentSpan(traceId: string, spanId: string): Span {
  const nothing = () => {};
  return {
    ...{ traceId, spanId, isRecorded: false, traceparent: `00-${traceId}-${spanId}-00` },
    ...{ set: nothing, fail: nothing, end: nothing },
  };
}

function recordOf(
  { name, kind, attributes, traceId, parentSpanId }: Started,
  {
    spanId,
    startMs,
    endMs,
    error,
  }: { spanId: string; startMs: number; endMs: number; error: string | undefined },
) {
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: attributesOf(error === undefined ? attributes : { ...attributes, 'error.type': error }),
    ...(error === undefined ? {} : { status: { code: STATUS_ERROR } }),
    flags: SAMPLED,
  };
}

/** Fetched from the system for many ids at once. */
const pool = Buffer.alloc(4096);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}
