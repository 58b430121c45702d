/**
 * Work that is done one at a time and asked for at any time.
 *
 * Modes: `idle` → `pumping` → (asked for meanwhile: once more, as long as it may) → `idle`; `stopped`.
 */
export type Pump = {
  /** Settles when there is nothing to do for now. Never rejects. */
  readonly run: () => Promise<void>;
  /** Once more when the one under way is done, and `resume` when none is. */
  readonly askAgain: () => void;
  /** Goes on with what was asked for and could not be done. */
  readonly resume: () => Promise<void>;
  readonly stop: () => void;
};

export const createPump = (parts: {
  readonly once: () => Promise<void>;
  /** Whether it goes on at once with what was asked for meanwhile; it does unless told otherwise. */
  readonly may?: () => boolean;
  readonly onFailure: (error: unknown) => void;
}): Pump => {
  let mode: 'idle' | 'pumping' | 'stopped' = 'idle';
  let isAskedAgain = false;
  const mayGoOn = parts.may ?? (() => true);

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
        await parts.once();
      } while (mode === 'pumping' && isAskedAgain && mayGoOn());
    } catch (error) {
      parts.onFailure(error);
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
};
