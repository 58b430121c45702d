import { vi } from 'vitest';
import { Session } from '../../coordinator/database/session.ts';

/** How many statements `work` takes. */
export const statementsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const run = vi.spyOn(Session.prototype, 'run');
  await work();
  // What requests cost is settled on its own, at any time.
  const own = run.mock.calls.filter(([text]) => !text.includes('rate_windows'));
  run.mockRestore();
  return own.length;
};
