import type * as Campaign from '../campaign.ts';
import { loadMutant } from './mutant.ts';
import type { Mutation } from './types.ts';

/**
 * What came of the search for a mutation: the seed that it was found with and what was wrong, or
 * null when it survived.
 */
export type Verdict = {
  readonly name: string;
  readonly found: { readonly seed: number; readonly violation: string } | null;
};

export const findMutation = async (
  mutation: Mutation,
  from: { readonly seed: number; readonly stories: number },
): Promise<Verdict> => {
  const { name, tells } = mutation;
  const { campaign }: typeof Campaign = await loadMutant(mutation);
  let seed = from.seed;
  try {
    const sum = campaign({
      seed,
      tells,
      isEnough: ({ stories }) => stories >= from.stories,
      onStory: ({ stories }) => {
        seed = from.seed + stories;
      },
    });
    return { name, found: sum.failed };
  } catch (error) {
    // A core that cannot go on is found out, too.
    return { name, found: { seed, violation: String(error) } };
  }
};
