/** Work that runs in parallel with sending, one run at a time. */
export interface SideJob {
  /** Runs it now, or once more after the current run. */
  start(): void;
  running(): Promise<void> | undefined;
}

/** `work` must not throw. `onEnd` gets what the run returned. */
export function createSideJob(work: () => Promise<number>, onEnd: (count: number) => void): SideJob {
  let running: Promise<void> | undefined;
  let again = false;

  async function run(): Promise<void> {
    let count = 0;
    do {
      again = false;
      count += await work();
    } while (again);
    running = undefined;
    onEnd(count);
  }

  return {
    start() {
      if (running) again = true;
      else running = run();
    },
    running: () => running,
  };
}
