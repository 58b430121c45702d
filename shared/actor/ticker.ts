/** Calls `tick` every `everyMs`, never two at once: a tick that takes longer swallows those that fall into it. */
export const createTicker = (options: {
  readonly everyMs: number;
  readonly tick: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}): { readonly stop: () => Promise<void> } => {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= options
      .tick()
      .catch(options.onFailure)
      .finally(() => {
        running = undefined;
      });
  }, options.everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
};
