import { AsyncLocalStorage } from 'node:async_hooks';

/** Takes what a check threw and nobody caught. */
export type Charged = (error: unknown) => void;

/**
 * Whose work is under way. A check opens sockets, sets timers and starts streams; what one of these throws in a turn of its own would end the whole
 * probe. Node follows a check through all of them, so that its fault is charged to it alone.
 */
const underWay = new AsyncLocalStorage<Charged>();

/** Does the work of a check. What it throws, now or in any turn that follows from it, is charged. */
export const chargedTo = (charged: Charged | undefined, work: () => void): void => {
  if (charged === undefined) {
    work();
    return;
  }
  try {
    underWay.run(charged, work);
  } catch (error) {
    charged(error);
  }
};

/** To whom what happens now is charged: for work that goes on in a turn of a timer or a socket that many checks share. */
export const chargedNow = (): Charged | undefined => underWay.getStore();

/** Tells others of a check. What they throw is not the check's: it is thrown in a turn that belongs to nobody. */
export const uncharged = (work: () => void): void =>
  underWay.exit(() => {
    try {
      work();
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
    }
  });

/** Charges what nobody caught to the check whose work it was; false when it was no check's. */
export const chargeUncaught = (error: unknown): boolean => {
  const charged = chargedNow();
  charged?.(error);
  return charged !== undefined;
};
