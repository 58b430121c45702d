import { campaign } from '../campaign.ts';
import { findMutation, type Verdict } from './find.ts';
import { mutations } from './list.ts';
import { mutated } from './mutant.ts';
import type { Mutation } from './types.ts';

/** What is said of all mutations, one line for each. */
const lineOf = ({ name, found }: Verdict): string =>
  found
    ? `found     ${name}\n          seed ${found.seed}: ${found.violation}`
    : `SURVIVED  ${name}`;

/** Searches for each from this seed on. Gives how many survived. */
export const searchMutations = async (
  from: { readonly seed: number; readonly stories: number },
  say: (text: string) => void,
): Promise<number> => {
  for (const mutation of mutations) mutated(mutation);
  let survived = 0;
  for (const mutation of mutations) {
    const verdict = await findMutation(mutation, from);
    if (verdict.found === null) survived += 1;
    say(lineOf(verdict));
  }
  say(
    `${mutations.length - survived} of ${mutations.length} mutations were found within ${from.stories} stories each`,
  );
  return survived;
};

/**
 * Each with the seed that is known to find it, and the law itself with the same seeds. Gives what
 * is not as it is written down.
 */
export const tryKnownSeeds = async (): Promise<string[]> => {
  const faults: string[] = [];
  const seedsOf = (tells: Mutation['tells']) =>
    new Set(mutations.flatMap((each) => (each.tells === tells ? each.seed : [])));
  for (const tells of [
    'network',
    'job',
    'warning',
    'places',
    'fleet',
    'notification',
    'cause',
  ] as const)
    for (const seed of seedsOf(tells)) {
      const { failed } = campaign({ seed, tells, isEnough: ({ stories }) => stories > 0 });
      if (failed)
        faults.push(`nothing is mutated, and seed ${seed} ends badly: ${failed.violation}`);
    }
  for (const mutation of mutations) {
    const { name, found } = await findMutation(mutation, { seed: mutation.seed, stories: 1 });
    if (found === null)
      faults.push(
        `"${name}" is not found by seed ${mutation.seed}; search anew: npm run simulate -- --mutations`,
      );
  }
  return faults;
};
