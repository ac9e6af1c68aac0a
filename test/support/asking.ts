import type { Merchant } from './merchants.ts';
import type { CallOptions } from './server.ts';

/** The assistant of a merchant, with a key. */
export function useAsksOf(shop: Merchant) {
  let key: string | undefined;
  let count = 0;
  const withKey = async (options: CallOptions = {}) => {
    key ??= await shop.key();
    return { token: key, ...options };
  };
  const question = () => `Do you ship article ${++count} to the moon?`;
  return {
    /** Reads with the assistant's key. */
    asKey: async (path: string, options?: CallOptions) => shop.get(path, await withKey(options)),
    ask: async (body: object, options?: CallOptions) => shop.post('/ask', body, await withKey(options)),
    get: async (id: number | string, query = '', options?: CallOptions) =>
      shop.get(`/ask/${id}${query}`, await withKey(options)),
    cancel: async (id: number) => shop.delete(`/ask/${id}`, await withKey()),
    /** A new customer, so that no other test's question is the same. */
    customer: () => ({ phone: `+34611${String(660000 + ++count)}`, name: 'Lucía' }),
    question,
    /** A new document of the knowledge base. */
    async know(): Promise<{ id: number; title: string; body: string }> {
      const teach = { do: 'new', title: `Do you repair the old mill number ${++count}?` };
      const answered = await shop.answer(await shop.raise(question()), { answer: 'In our workshop.', teach });
      return (await shop.get(`/knowledge/${answered.json.lesson.document_id}`)).json;
    },
  };
}
