/**
 * OTLP's messages in the binary form of Protocol Buffers, from the same objects that JSON is made of. The numbers are
 * those of opentelemetry-proto 1.x. Unknown fields are an error, so that none is forgotten here.
 */

type Scalar = 'string' | 'hex' | 'fixed64' | 'fixed32' | 'varint' | 'bool' | 'double';
interface Field {
  number: number;
  type: Scalar | Message;
  /** Numbers in a list share one length. */
  packed?: true;
}
type Message = { readonly [name: string]: Field };

const field = (number: number, type: Field['type']): Field => ({ number, type });
const packed = (number: number, type: Scalar): Field => ({ number, type, packed: true });

const ANY_VALUE: Message = {
  stringValue: field(1, 'string'),
  boolValue: field(2, 'bool'),
  intValue: field(3, 'varint'),
  doubleValue: field(4, 'double'),
};
const ATTRIBUTE: Message = { key: field(1, 'string'), value: field(2, ANY_VALUE) };
const RESOURCE: Message = { attributes: field(1, ATTRIBUTE) };
const SCOPE: Message = { name: field(1, 'string'), version: field(2, 'string') };

const SPAN: Message = {
  traceId: field(1, 'hex'),
  spanId: field(2, 'hex'),
  parentSpanId: field(4, 'hex'),
  name: field(5, 'string'),
  kind: field(6, 'varint'),
  startTimeUnixNano: field(7, 'fixed64'),
  endTimeUnixNano: field(8, 'fixed64'),
  attributes: field(9, ATTRIBUTE),
  status: field(15, { message: field(2, 'string'), code: field(3, 'varint') }),
  flags: field(16, 'fixed32'),
};
const LOG_RECORD: Message = {
  timeUnixNano: field(1, 'fixed64'),
  severityNumber: field(2, 'varint'),
  severityText: field(3, 'string'),
  body: field(5, ANY_VALUE),
  attributes: field(6, ATTRIBUTE),
  flags: field(8, 'fixed32'),
  traceId: field(9, 'hex'),
  spanId: field(10, 'hex'),
  observedTimeUnixNano: field(11, 'fixed64'),
};
const NUMBER_POINT: Message = {
  startTimeUnixNano: field(2, 'fixed64'),
  timeUnixNano: field(3, 'fixed64'),
  asDouble: field(4, 'double'),
  attributes: field(7, ATTRIBUTE),
};
const HISTOGRAM_POINT: Message = {
  startTimeUnixNano: field(2, 'fixed64'),
  timeUnixNano: field(3, 'fixed64'),
  count: field(4, 'fixed64'),
  sum: field(5, 'double'),
  bucketCounts: packed(6, 'fixed64'),
  explicitBounds: packed(7, 'double'),
  attributes: field(9, ATTRIBUTE),
};
const METRIC: Message = {
  name: field(1, 'string'),
  description: field(2, 'string'),
  unit: field(3, 'string'),
  gauge: field(5, { dataPoints: field(1, NUMBER_POINT) }),
  sum: field(7, {
    dataPoints: field(1, NUMBER_POINT),
    aggregationTemporality: field(2, 'varint'),
    isMonotonic: field(3, 'bool'),
  }),
  histogram: field(9, {
    dataPoints: field(1, HISTOGRAM_POINT),
    aggregationTemporality: field(2, 'varint'),
  }),
};

const request = (resources: string, scopes: string, items: string, item: Message): Message => ({
  [resources]: field(1, {
    resource: field(1, RESOURCE),
    [scopes]: field(2, { scope: field(1, SCOPE), [items]: field(2, item) }),
  }),
});

const REQUESTS = {
  traces: request('resourceSpans', 'scopeSpans', 'spans', SPAN),
  logs: request('resourceLogs', 'scopeLogs', 'logRecords', LOG_RECORD),
  metrics: request('resourceMetrics', 'scopeMetrics', 'metrics', METRIC),
};

export const encodeRequest = (signal: keyof typeof REQUESTS, body: object): Buffer =>
  encode(REQUESTS[signal], body);

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 };
const WIRE_OF: Readonly<Record<Scalar, number>> = {
  string: WIRE.bytes,
  hex: WIRE.bytes,
  fixed64: WIRE.fixed64,
  fixed32: WIRE.fixed32,
  varint: WIRE.varint,
  bool: WIRE.varint,
  double: WIRE.fixed64,
};

function encode(message: Message, value: object): Buffer {
  const pieces: Buffer[] = [];
  for (const [name, content] of Object.entries(value)) {
    if (content === undefined) continue;
    const known = message[name];
    if (!known) throw new Error(`OTLP has no field ${name} here`);
    const { number, type } = known;
    if (known.packed) {
      const items = (content as unknown[]).map((item) => encodeScalar(type as Scalar, item));
      pieces.push(...delimited(number, Buffer.concat(items)));
      continue;
    }
    for (const item of Array.isArray(content) ? content : [content]) {
      if (typeof type === 'object') pieces.push(...delimited(number, encode(type, item)));
      else if (WIRE_OF[type] === WIRE.bytes) pieces.push(...delimited(number, encodeScalar(type, item)));
      else pieces.push(tag(number, WIRE_OF[type]), encodeScalar(type, item));
    }
  }
  return Buffer.concat(pieces);
}

const tag = (number: number, wire: number) => varint(BigInt((number << 3) | wire));
const delimited = (number: number, bytes: Buffer) => [
  tag(number, WIRE.bytes),
  varint(BigInt(bytes.length)),
  bytes,
];

function encodeScalar(type: Scalar, value: unknown): Buffer {
  switch (type) {
    case 'string':
      return Buffer.from(String(value));
    case 'hex':
      return Buffer.from(String(value), 'hex');
    case 'varint':
      return varint(BigInt.asUintN(64, BigInt(value as string | number)));
    case 'bool':
      return varint(value ? 1n : 0n);
    case 'double': {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(Number(value));
      return bytes;
    }
    case 'fixed32': {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32LE(Number(value));
      return bytes;
    }
    case 'fixed64': {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(BigInt(value as string | number));
      return bytes;
    }
  }
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** How many items a collector has refused, from its response: field 1 of field 1 in all three. */
export function readRejected(response: Buffer): number {
  const partial = readField(response, 1);
  if (!Buffer.isBuffer(partial)) return 0;
  const rejected = readField(partial, 1);
  return typeof rejected === 'number' ? rejected : 0;
}

/** The first field with this number, if it is a varint or has a length. */
function readField(bytes: Buffer, wanted: number): number | Buffer | undefined {
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at]!;
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const key = readVarint();
    const wire = key & 7;
    if (wire !== WIRE.varint && wire !== WIRE.bytes) return undefined;
    const value = readVarint();
    const content = wire === WIRE.varint ? value : bytes.subarray(at, at + value);
    if (wire === WIRE.bytes) at += value;
    if (key >> 3 === wanted) return content;
  }
  return undefined;
}
