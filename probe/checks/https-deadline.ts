/**
 * The end of a check's time, for the one step that is under way: each says what is to be stopped in its place. The signal has one listener for
 * the whole check, because to add one and take it off again for every step costs more than the step's own work here.
 */
export type Deadline = {
  readonly isOver: () => boolean;
  /** What the end of the time stops; the step that sets it ignores it once it is over itself. */
  stop: () => void;
};

const nothing = (): void => undefined;

export const deadlineOf = (signal: AbortSignal): Deadline => {
  const deadline = { isOver: () => signal.aborted, stop: nothing };
  signal.addEventListener('abort', () => deadline.stop());
  return deadline;
};
