export type End = () => Promise<unknown> | unknown;

/** Ends what was begun, the latest first. One that fails keeps no other from ending. @throws what failed, when all have ended. */
export const endAll = async (ends: readonly End[]): Promise<void> => {
  const failures: unknown[] = [];
  for (const end of ends.toReversed()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, 'several parts did not end cleanly');
};
