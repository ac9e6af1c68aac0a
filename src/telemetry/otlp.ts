import type { Attributes } from '../tracing.ts';

/** What all three signals share, in OTLP's JSON form. */

type AnyValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number };

export interface KeyValue {
  key: string;
  value: AnyValue;
}

export function attributesOf(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: string | number | boolean): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Nanoseconds as text: they are too large for a number. */
export const nanos = (ms: number): string => `${Math.round(ms * 1000)}000`;
