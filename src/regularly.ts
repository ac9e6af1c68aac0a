export interface Regularly {
  /** Waits for the work that runs, which should end early: its signal is aborted. */
  stop(): Promise<void>;
}

/** Does it again and again, never twice at the same time. `work` handles its own errors. */
export function regularly(everyMs: number, work: (signal: AbortSignal) => Promise<void>): Regularly {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work(stopping.signal).finally(() => {
      running = undefined;
    });
  }, everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}
