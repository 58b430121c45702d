import type { CheckDeadline } from './check-deadline.ts';

/**
 * The end of a check's time, for the one step that is under way: each says what is to be stopped in its place. The check's deadline has one listener for
 * the whole check, because to add one and take it off again for every step costs more than the step's own work here.
 */
export type Deadline = {
  readonly isOver: () => boolean;
  /** What the end of the time stops; the step that sets it ignores it once it is over itself. */
  stop: () => void;
};

const nothing = (): void => undefined;

export const deadlineOf = (whole: CheckDeadline): Deadline => {
  const deadline = { isOver: () => whole.isOver(), stop: nothing };
  whole.listen({ expire: () => deadline.stop() });
  return deadline;
};
