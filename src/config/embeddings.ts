/** An OpenAI-compatible endpoint that turns texts into vectors. */
export interface EmbeddingsConfig {
  url: string;
  model: string;
  apiKey: string | undefined;
  /** How long a question waits for its vector. */
  timeoutMs: number;
}

/** Undefined: it is off. */
export function readEmbeddings(
  { url, model, apiKey, timeoutMs }: Given,
  problems: string[],
): EmbeddingsConfig | undefined {
  if (url !== undefined && model === undefined)
    problems.push('EMBEDDINGS_MODEL must be set with EMBEDDINGS_URL.');
  if (url === undefined && (model ?? apiKey) !== undefined) {
    const given = model === undefined ? 'EMBEDDINGS_API_KEY' : 'EMBEDDINGS_MODEL';
    problems.push(`EMBEDDINGS_URL must be set with ${given}.`);
  }
  if (model !== undefined && model.length > MODEL_LENGTH_MAX) {
    problems.push(`EMBEDDINGS_MODEL must have at most ${MODEL_LENGTH_MAX} characters.`);
  }
  // It becomes a header.
  if (apiKey !== undefined && !/^[\x21-\x7e]{1,1024}$/.test(apiKey)) {
    problems.push('EMBEDDINGS_API_KEY must be 1 to 1024 printable ASCII characters without spaces.');
  }
  if (url === undefined || model === undefined) return undefined;
  const parsed = new URL(url);
  if (parsed.username !== '' || parsed.password !== '') {
    problems.push('EMBEDDINGS_URL must not contain a user or a password. Use EMBEDDINGS_API_KEY.');
  }
  return { url: endpointOf(parsed), model, apiKey, timeoutMs };
}

interface Given extends Record<'url' | 'model' | 'apiKey', string | undefined> {
  timeoutMs: number;
}

const MODEL_LENGTH_MAX = 200;

/** The address may be that of the server, of its API (`…/v1`) or of the endpoint itself. */
function endpointOf(url: URL): string {
  const path = url.pathname.replace(/\/+$/, '') || '/v1';
  url.pathname = path.endsWith('/embeddings') ? path : `${path}/embeddings`;
  url.hash = '';
  return url.href;
}
