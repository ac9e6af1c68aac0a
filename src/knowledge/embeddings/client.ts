import { DIMENSIONS_MAX, type StoredVector, toStored } from './vectors.ts';

/** Texts per request. Hugging Face's server accepts 32, OpenAI 2,048. */
export const BATCH_MAX = 32;

const BYTES_PER_NUMBER = 32;
const BYTES_BESIDES = 64 * 1024;

export interface EmbeddingsSettings {
  /** The endpoint itself. */
  url: string;
  model: string;
  apiKey: string | undefined;
}

/** What made a request fail. Neither has a text of the endpoint: it may repeat what we sent. */
export class EmbeddingsFailure extends Error {
  readonly code: string;
  /** It refused these texts: perhaps too long, or too many. Others may work. */
  readonly isRefusal: boolean;
  readonly retryAfterMs: number | undefined;
  constructor(
    code: string,
    { isRefusal = false, retryAfterMs }: { isRefusal?: boolean; retryAfterMs?: number } = {},
  ) {
    super(`The embeddings endpoint failed: ${code}`);
    this.code = code;
    this.isRefusal = isRefusal;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A vector for each text, in their order. Throws an `EmbeddingsFailure`. */
export type Embed = (
  texts: readonly string[],
  limits: {
    timeoutMs: number;
    signal?: AbortSignal;
    /** Every endpoint that works accepts these texts. */
    isProbe?: boolean;
  },
) => Promise<StoredVector[]>;

/** Too long: OpenAI, Ollama and vLLM answer 400, Hugging Face 413 or 422. llama.cpp answers 500, like a broken server. */
const REFUSALS = new Set([400, 413, 422]);
const RETRY_AFTER_MAX_MS = 3600_000;

export function createEmbed({ url, model, apiKey }: EmbeddingsSettings): Embed {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };

  return async (texts, { timeoutMs, signal: stop }) => {
    const bytesMax = texts.length * DIMENSIONS_MAX * BYTES_PER_NUMBER + BYTES_BESIDES;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = stop ? AbortSignal.any([timeout, stop]) : timeout;
    let text: string;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
        // A redirect would send texts and the key to an address that the operator did not choose.
        redirect: 'manual',
        signal,
      });
      if (response.status !== 200) {
        await response.body?.cancel().catch(() => {});
        throw statusFailure(response);
      }
      text = await readBounded(response, bytesMax);
    } catch (error) {
      if (error instanceof EmbeddingsFailure) throw error;
      throw new EmbeddingsFailure(timeout.aborted ? 'TIMEOUT' : connectionCode(error));
    }
    return readVectors(text, texts.length);
  };
}

function statusFailure({ status, headers }: Response): EmbeddingsFailure {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return new EmbeddingsFailure(`HTTP_${status}`, {
    isRefusal: REFUSALS.has(status),
    ...(seconds > 0 ? { retryAfterMs: Math.min(seconds * 1000, RETRY_AFTER_MAX_MS) } : {}),
  });
}

const connectionCode = (error: unknown): string => {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'CONNECTION_FAILED';
};

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new EmbeddingsFailure('RESPONSE_TOO_LARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Anything unexpected is a failure: a wrong vector would give wrong answers. */
function readVectors(text: string, count: number): StoredVector[] {
  const invalid = new EmbeddingsFailure('RESPONSE_INVALID');
  const vectors: StoredVector[] = new Array(count);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw invalid;
  }
  const data = (body as { data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length !== count) throw invalid;
  for (const [place, item] of data.entries()) {
    const { embedding, index = place } = (item ?? {}) as { embedding?: unknown; index?: unknown };
    const isNew = Number.isInteger(index) && (index as number) in data && !((index as number) in vectors);
    if (!isNew || !isVector(embedding)) throw invalid;
    vectors[index as number] = toStored(embedding);
  }
  if (vectors.some(({ bytes }) => bytes.length !== vectors[0]!.bytes.length)) throw invalid;
  return vectors;
}

/** Ollama has returned vectors of zeros for texts that were too long. They have no direction. */
const isVector = (given: unknown): given is number[] =>
  Array.isArray(given) &&
  given.length > 0 &&
  given.length <= DIMENSIONS_MAX &&
  given.every((value) => typeof value === 'number' && Number.isFinite(value)) &&
  given.some((value) => value !== 0);
