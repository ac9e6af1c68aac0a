import type { Attributes } from '../tracing.ts';
import { attributesOf, nanos } from './otlp.ts';

/** Numbers of the log data model. */
const SEVERITIES: Readonly<Record<string, number>> = {
  trace: 1,
  debug: 5,
  info: 9,
  warn: 13,
  error: 17,
  fatal: 21,
};

/** A line of our log, which is already free of secrets, in OTLP's JSON form. */
export function logRecordOf(line: string): object | undefined {
  const parsed = parse(line);
  if (!parsed) return undefined;
  const { level, time, msg, trace_id: traceId, span_id: spanId, ...rest } = parsed;
  const timeUnixNano = nanos(Date.parse(String(time)) || Date.now());
  return {
    timeUnixNano,
    observedTimeUnixNano: timeUnixNano,
    severityNumber: SEVERITIES[String(level)] ?? 0,
    severityText: String(level).toUpperCase(),
    body: { stringValue: String(msg) },
    attributes: attributesOf(flat(rest)),
    ...(typeof traceId === 'string' ? { traceId, spanId, flags: 1 } : {}),
  };
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** The error of a line becomes the attributes that the conventions name. Other objects stay JSON. */
function flat({ err, ...rest }: Record<string, unknown>): Attributes {
  const attributes: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(rest)) {
    if (value === undefined || value === null) continue;
    attributes[key] = ['string', 'number', 'boolean'].includes(typeof value)
      ? (value as string | number | boolean)
      : JSON.stringify(value);
  }
  const { type, message, stack } = (err ?? {}) as Record<string, unknown>;
  return {
    ...attributes,
    ...(typeof type === 'string' ? { 'exception.type': type } : {}),
    ...(typeof message === 'string' ? { 'exception.message': message } : {}),
    ...(typeof stack === 'string' ? { 'exception.stacktrace': stack } : {}),
  };
}
