import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/** Shorter responses would save nothing. */
const MIN_BYTES = 2048;
/**
 * Up to this size a response is compressed at once, in 0.4 ms. In a thread it would wait for other compressions and
 * for password hashes.
 */
const AT_ONCE_MAX_BYTES = 32 * 1024;

export async function compressResponses(app: FastifyInstance): Promise<void> {
  await app.register(compress, {
    threshold: MIN_BYTES,
    syncThreshold: AT_ONCE_MAX_BYTES,
    encodings: ['gzip', 'br'],
    globalDecompression: false,
  });
}
