import { core, type Mutation } from './types.ts';

const warning = (name: string, text: string, instead: string, seed: number): Mutation => ({
  name,
  file: core('warnings'),
  text,
  instead,
  tells: 'warning',
  seed,
});

/** What could be wrong with how warnings are confirmed (rule 44). */
export const warningMutations: readonly Mutation[] = [
  warning(
    'a warning begins with one continent',
    'newest.run >= 2 : seen >= 2;',
    'newest.run >= 2 : seen >= 1;',
    1,
  ),
  warning(
    'a continent alone begins a warning in one turn',
    'newest?.sees === true && newest.run >= 2',
    'newest?.sees === true && newest.run >= 1',
    22,
  ),
  warning(
    'a continent alone ends a warning in one turn',
    'newest?.sees === false && newest.run >= 2',
    'newest?.sees === false && newest.run >= 1',
    16,
  ),
  warning(
    'a warning ends when one continent sees it no more',
    'clear >= Math.min(2, Math.max(1, reach.apart))',
    'clear >= 1',
    1,
  ),
  warning(
    'one slow check of five is slow',
    'filter(Boolean).length > medianOf / 2',
    'filter(Boolean).length > medianOf / 6',
    1,
  ),
  warning(
    'what a continent saw of a warning is never too old',
    'warning.views.filter((view) => view.at >= oldest)',
    'warning.views.filter((view) => view.at >= 0 * oldest)',
    2,
  ),
  warning(
    'a warning ends at the check that confirms its end',
    'warning.below_since ?? Math.max(',
    'Math.max(',
    1,
  ),
  warning(
    'a failing check says that there is no warning',
    "if (result.outcome !== 'ok' || (state",
    'if ((state',
    1,
  ),
  warning(
    'a late pass of a continent moves what it sees',
    'if (before && at <= before.at) return warning;',
    'if (before && at <= before.at - 1e9) return warning;',
    4,
  ),
  warning(
    'a warning begins with the check that confirms it',
    'since: goesOn ? before.since : at,',
    'since: at,',
    1,
  ),
  warning(
    'fewer than two continents for a moment date the end of a warning',
    'const still = { ...warning, below_since: null };',
    'const still = warning;',
    2,
  ),
  warning(
    'a further stage is told as soon as one continent has reached it',
    'Number(b.details.stage ?? 0) - Number(a.details.stage ?? 0)',
    'Number(a.details.stage ?? 0) - Number(b.details.stage ?? 0)',
    2,
  ),
  warning(
    'a further stage is told to nobody',
    "{ ...changed, told }, 'deepened', null",
    "{ ...changed, told }, 'changed', null",
    2,
  ),
  warning(
    'a stage is told as often as the continents come back to it',
    'if (!isDeeper || warning.told.includes(toldAs(agreed)))',
    'if (!isDeeper)',
    2,
  ),
  warning(
    'a stage that is less urgent is told as well',
    'Number(agreed.stage) < Number(warning.details.stage)',
    'Number(agreed.stage) !== Number(warning.details.stage)',
    5,
  ),
  warning(
    'a stage is compared with that of the beginning',
    'const changed = { ...still, details: agreed };',
    'const changed = { ...still };',
    2,
  ),
];
