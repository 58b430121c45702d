/**
 * Does something when it is asked to, one at a time: however often it is asked meanwhile, it is done once more, because what was asked for last
 * may have come after the look.
 *
 * Modes: `idle` → `working` → (asked meanwhile) `asked` → `working`; → `idle`.
 */
export const createAgain = (work: () => Promise<void>): (() => void) => {
  let mode: 'idle' | 'working' | 'asked' = 'idle';
  const ask = (): void => {
    if (mode !== 'idle') {
      mode = 'asked';
      return;
    }
    mode = 'working';
    void work().finally(() => {
      const isAsked = mode === 'asked';
      mode = 'idle';
      if (isAsked) ask();
    });
  };
  return ask;
};
