/** How long to wait before attempt n (0 first): doubling from `first` up to `most`, so that a broken part is not hammered. */
export const backoff = (attempt: number, first: number, most: number): number => Math.min(most, first * 2 ** Math.min(attempt, 30));

/** Resolves after `ms`, or at once when the signal is aborted; never rejects, so that loops can end by looking at the signal. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
