import type { Tells } from '../campaign.ts';

/**
 * One expression of the core, and a wrong one in its place. `text` stands exactly once in the file:
 * when it is gone, the mutation has to be written anew.
 */
export type Mutation = {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly instead: string;
  /**
   * Stories, lives of jobs that ping, passes with warnings, monitors with chosen places, or fleets of
   * coordinators are told until one ends badly.
   */
  readonly tells: Exclude<Tells, 'all'>;
  /** A seed that finds it, so that the tests need not search; null: it survives. */
  readonly seed: number | null;
};

export const core = (file: string) => `coordinator/core/${file}.ts`;
