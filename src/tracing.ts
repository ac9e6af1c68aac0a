import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * All that features know about tracing. Without OTEL_ settings there is no tracer and no span, and nothing of
 * `telemetry/` is loaded.
 */

/** Never a phone number, a text, an e-mail address or a token. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** As W3C Trace Context writes it, for the next system. */
  readonly traceparent: string;
  /** False: it is only passed on. */
  readonly isRecorded: boolean;
  set(attributes: Attributes): void;
  /** `error.type`: a code or the name of a class. */
  fail(type: string): void;
  end(): void;
}

export interface Tracer {
  /** `parent` is a traceparent from outside or from the database; one that is not valid counts as none. */
  start(name: string, kind: SpanKind, attributes: Attributes, parent: Span | string | undefined): Span;
}

const current = new AsyncLocalStorage<Span | undefined>();

/** The span of the request or delivery that this work belongs to. */
export const currentSpan = (): Span | undefined => current.getStore();

/** Undefined for work that several requests share, or that outlives the request that starts it. */
export const runWithSpan = <T>(span: Span | undefined, work: () => T): T => current.run(span, work);

/** Runs the work in a span of its own, if there is a tracer. */
export async function traced<T>(
  tracer: Tracer | undefined,
  { name, kind, attributes, parent }: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (!tracer) return work(undefined);
  const span = tracer.start(name, kind, attributes, parent);
  try {
    return await runWithSpan(span, () => work(span));
  } catch (error) {
    span.fail((error as Error).constructor?.name ?? 'Error');
    throw error;
  } finally {
    span.end();
  }
}

export interface SpanOptions {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  parent: Span | string | undefined;
}

/** For a call to another system. */
export function tracingHeaders(): { traceparent?: string } {
  const span = currentSpan();
  return span ? { traceparent: span.traceparent } : {};
}
