/**
 * Work that runs one at a time and can be requested at any time.
 *
 * Modes: `idle` → `pumping` → (requested meanwhile: again, as long as it may) → `idle`; `stopped`.
 */
export type Pump = {
  /** Settles when there is nothing to do for now. Never rejects. */
  readonly run: () => Promise<void>;
  /** Runs again when the current run is done, or like `resume` when there is none. */
  readonly askAgain: () => void;
  /** Continues with what was requested and could not be done. */
  readonly resume: () => Promise<void>;
  readonly stop: () => void;
};

export function createPump(options: {
  readonly once: () => Promise<void>;
  /** Whether it continues at once with what was requested meanwhile; the default is yes. */
  readonly may?: () => boolean;
  readonly onFailure: (error: unknown) => void;
}): Pump {
  let mode: 'idle' | 'pumping' | 'stopped' = 'idle';
  let isAskedAgain = false;
  const mayContinue = options.may ?? (() => true);

  const run = async (): Promise<void> => {
    if (mode === 'stopped') return;
    if (mode === 'pumping') {
      isAskedAgain = true;
      return;
    }
    mode = 'pumping';
    try {
      do {
        isAskedAgain = false;
        await options.once();
      } while (mode === 'pumping' && isAskedAgain && mayContinue());
    } catch (error) {
      options.onFailure(error);
    } finally {
      if (mode === 'pumping') mode = 'idle';
    }
  };

  return {
    run,
    askAgain: () => {
      isAskedAgain = true;
    },
    resume: async () => {
      if (isAskedAgain) await run();
    },
    stop: () => {
      mode = 'stopped';
    },
  };
}
