import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenLocally } from './loopback.ts';

/**
 * A fake of `POST /v1/embeddings` as OpenAI documents it, with the limits of self-hosted servers. Its vectors carry
 * meaning: words of the same concept in English, Spanish, German and Arabic point in the same direction.
 */
export interface Embeddings {
  /** The base address, with `/v1`. */
  url: string;
  answered: string[][];
  received: Set<string>;
  /** How many requests came, and how many wait for an answer that does not come. */
  requests(): number;
  holding(): number;
  /** What is wrong with it from now on. */
  fault: Fault | undefined;
  letGo(): void;
  close(): Promise<void>;
}

type Fault =
  | { status: number; retryAfterSeconds?: number }
  | 'hangs'
  | 'garbage'
  | 'zeros'
  | 'endless'
  | 'redirect';

interface Options {
  apiKey?: string;
  /** Texts per request. */
  batchMax?: number;
  /** Characters of a text, instead of tokens. */
  lengthMax?: number;
  port?: number;
}

const CONCEPTS: readonly string[][] = [
  ['return', 'refund', 'devolver', 'devolución', 'zurückgeben', 'rückgabe', 'إرجاع'],
  ['ship', 'shipping', 'deliver', 'envío', 'envían', 'envíos', 'versand', 'liefern', 'شحن'],
  ['abroad', 'international', 'extranjero', 'ausland', 'الخارج'],
  ['decaf', 'descafeinado', 'entkoffeiniert', 'entkoffeinierten'],
  ['coffee', 'beans', 'café', 'kaffee', 'قهوة'],
  ['gift', 'regalo', 'geschenk', 'هدية'],
  ['card', 'cards', 'tarjeta', 'tarjetas', 'karte', 'gutschein'],
  ['pay', 'payment', 'pagar', 'pago', 'bezahlen', 'الدفع'],
  ['opening', 'open', 'hours', 'horario', 'abierto', 'öffnungszeiten'],
  ['organic', 'ecológico', 'bio', 'عضوي'],
  ['dogs', 'pets', 'perros', 'mascotas', 'hunde'],
];
const NOISE = 500;
const DIMENSIONS = 1 + CONCEPTS.length + NOISE;

/** Like e5, it gives unrelated texts a cosine of 0.6 and more. */
function vectorOf(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0);
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  for (const word of words) {
    const concept = CONCEPTS.findIndex((names) => names.includes(word));
    if (concept >= 0) vector[1 + concept]! += 1;
    else
      vector[1 + CONCEPTS.length + (createHash('sha256').update(word).digest().readUInt16LE() % NOISE)]! +=
        0.25;
  }
  const length = Math.hypot(...vector) || 1;
  const meaning = vector.map((value) => (0.6 * value) / length);
  meaning[0] = 0.8;
  return meaning;
}

/** `stub` becomes the endpoint. */
export async function startEmbeddings(
  { apiKey, batchMax = 32, lengthMax = 8192, port = 0 }: Options = {},
  stub = {} as Embeddings,
): Promise<Embeddings> {
  let requests = 0;
  const held = new Set<() => void>();
  const server = createServer((request, response) => {
    requests += 1;
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const send = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(typeof body === 'string' ? body : JSON.stringify(body));
    // Like real servers, it repeats what it received in its errors.
    const refuse = (status: number, code: string, headers: Record<string, string> = {}) =>
      send(status, { error: { message: `${code}: ${Buffer.concat(chunks)}`, type: 'error', code } }, headers);

    // A redirect leads to an address that would answer.
    const isElsewhere = request.url === '/v1/elsewhere';
    const isKnown = isElsewhere || request.url === '/v1/embeddings';
    if (request.method !== 'POST' || !isKnown) return void refuse(404, 'not_found');
    if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
      return void refuse(401, 'invalid_api_key');
    }
    const { model, input, encoding_format = 'float' } = JSON.parse(Buffer.concat(chunks).toString());
    const texts: string[] = [input].flat();
    for (const text of texts) stub.received.add(text);
    const fault = isElsewhere ? undefined : stub.fault;
    if (fault === 'hangs') await new Promise<void>((resolve) => held.add(resolve));
    if (fault === 'garbage') return void send(200, '{"data":[{"embedding":"AAAA"');
    if (fault === 'redirect') return void send(307, '', { location: `${stub.url}/elsewhere` });
    if (fault === 'endless') return void sendForever(response);
    if (typeof fault === 'object') {
      const after = fault.retryAfterSeconds;
      return void refuse(fault.status, 'fault', after === undefined ? {} : { 'retry-after': String(after) });
    }
    if (model !== 'meaning-1') return void refuse(404, 'model_not_found');
    if (encoding_format !== 'float' || texts.length === 0 || texts.some((text) => text === '')) {
      return void refuse(400, 'invalid_input');
    }
    if (texts.length > batchMax) return void refuse(422, 'batch_too_large');
    if (texts.some((text) => text.length > lengthMax)) return void refuse(400, 'input_too_long');
    stub.answered.push(texts);
    const vector = (text: string) => (fault === 'zeros' ? vectorOf(text).fill(0) : vectorOf(text));
    const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: vector(text) }));
    const tokens = texts.join(' ').split(' ').length;
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    // In any order: `index` says which text each belongs to.
    send(200, { object: 'list', data: data.reverse(), model, usage });
  }

  const { origin, close } = await listenLocally(server, port);
  return Object.assign(stub, {
    url: `${origin}/v1`,
    answered: [],
    received: new Set(),
    requests: () => requests,
    holding: () => held.size,
    fault: undefined,
    letGo() {
      for (const resolve of held) resolve();
      held.clear();
    },
    close() {
      stub.letGo();
      return close();
    },
  });
}

function sendForever(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  const send = () => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once('drain', send);
  };
  send();
}
