import type { Logger } from 'pino';
import { createEmbed, type Embed, type EmbeddingsFailure, type EmbeddingsSettings } from './client.ts';

/** Who needs vectors: the worker for documents, a request for its question. */
export type Use = 'documents' | 'questions';

export interface EndpointParts {
  settings: EmbeddingsSettings;
  log: Logger;
  onRequest: (use: Use, outcome: 'ok' | 'failed') => void;
}

/** The configured endpoint for each use. Logs one line when it stops working, and one when every use works again. */
export function createEndpoint({ settings, log, onRequest }: EndpointParts): Readonly<Record<Use, Embed>> {
  const embed = createEmbed(settings);
  const about = { host: new URL(settings.url).host, model: settings.model };
  const failing = new Set<Use>();

  function failed(use: Use, code: string): void {
    if (failing.size === 0) {
      log.warn(
        { ...about, code },
        'the embeddings endpoint does not work: texts are compared by their words only',
      );
    }
    failing.add(use);
  }

  function worked(use: Use): void {
    if (failing.delete(use) && failing.size === 0) log.info(about, 'the embeddings endpoint is back');
  }

  const embedFor =
    (use: Use): Embed =>
    async (texts, limits) => {
      try {
        const vectors = await embed(texts, limits);
        onRequest(use, 'ok');
        worked(use);
        return vectors;
      } catch (error) {
        if (!limits.signal?.aborted) onRequest(use, 'failed');
        const { isRefusal, code } = error as EmbeddingsFailure;
        // A text that is refused, or a process that stops, says nothing about the endpoint.
        if ((!isRefusal || limits.isProbe) && !limits.signal?.aborted) failed(use, code);
        throw error;
      }
    };
  return { documents: embedFor('documents'), questions: embedFor('questions') };
}
