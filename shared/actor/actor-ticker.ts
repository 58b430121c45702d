export type Ticker = {
  /** Not only when it is time, but now: or after the tick that is at work, which may have looked already. */
  readonly hurry: () => void;
  readonly stop: () => Promise<void>;
};

/** Calls `tick` every `everyMs`, never two at once: a tick that takes longer swallows those that fall into it. Modes: `ticking` → `stopped`. */
export const createTicker = (options: {
  readonly everyMs: number;
  readonly tick: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}): Ticker => {
  let running: Promise<void> | undefined;
  let stopped = false;
  const turn = (): void => {
    if (stopped) return;
    running ??= options
      .tick()
      .catch(options.onFailure)
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(turn, options.everyMs);
  return {
    hurry: () => void (running ?? Promise.resolve()).then(turn),
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
};
