import { createStore, useStore } from '../shell/store.ts';
import { type ApiResponse, type Call, requestWithHeaders } from './client.ts';

const PER_REQUEST_MAX = 200;
/** Rows that become visible together share one request. */
const BATCH_MS = 20;

/** Loads what rows on the screen need besides the list, each once per version. */
export function createByIds<T extends { id: number }>(callOf: (ids: readonly number[]) => Call) {
  const loaded = createStore<ReadonlyMap<number, T>>(new Map());
  const pending = new Map<number, string>();
  const requested = new Map<number, string>();
  let running = false;

  async function fetchPending(): Promise<void> {
    try {
      while (pending.size > 0) {
        const wanted = [...pending].slice(0, PER_REQUEST_MAX);
        for (const [id, version] of wanted) {
          pending.delete(id);
          requested.set(id, version);
        }
        await loadPages(callOf(wanted.map(([id]) => id)));
      }
    } catch {
      // The rows do without it until something changes.
      requested.clear();
    } finally {
      running = false;
    }
  }

  /** A page ends earlier if its texts are long. */
  async function loadPages(first: Call): Promise<void> {
    let call: Call | undefined = first;
    while (call) {
      const page: ApiResponse<T[]> = await requestWithHeaders<T[]>(call);
      store(page.body);
      const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
      call = next === undefined ? undefined : { method: 'GET', path: next };
    }
  }

  function store(found: readonly T[]): void {
    const next = new Map(loaded.get());
    for (const one of found) next.set(one.id, one);
    loaded.set(next);
  }

  return {
    load(ids: Iterable<number>, versionOf: (id: number) => string = () => ''): void {
      for (const id of ids) if (requested.get(id) !== versionOf(id)) pending.set(id, versionOf(id));
      if (running || pending.size === 0) return;
      running = true;
      setTimeout(() => void fetchPending(), BATCH_MS);
    },
    store(found: readonly T[]): void {
      for (const { id } of found) requested.set(id, '');
      store(found);
    },
    forget(ids: Iterable<number>): void {
      for (const id of ids) requested.delete(id);
    },
    reset(): void {
      loaded.set(new Map());
      requested.clear();
      pending.clear();
    },
    useLoaded: (): ReadonlyMap<number, T> => useStore(loaded),
  };
}
