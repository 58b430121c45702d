import { always, instead, leftOut, mutationsOf, never, value } from './types.ts';

const mutation = mutationsOf('warning');

/** What could be wrong with how warnings are confirmed (rule 44). */
export const warningMutations = [
  mutation(
    'a warning begins with one continent',
    'coordinator/core/warnings.ts#settle.isSeen',
    instead('seen >= 2', 'seen >= 1'),
    1,
  ),
  mutation(
    'a continent alone begins a warning in one turn',
    'coordinator/core/warnings.ts#settle.isSeen',
    leftOut('newest.run >= 2'),
    22,
  ),
  mutation(
    'a continent alone ends a warning in one turn',
    'coordinator/core/warnings.ts#settle.isOver',
    leftOut('newest.run >= 2'),
    16,
  ),
  mutation(
    'a warning ends when one continent sees it no more',
    'coordinator/core/warnings.ts#settle.isOver',
    instead('clear >= Math.min(2, Math.max(1, reach.apart))', 'clear >= 1'),
    1,
  ),
  mutation(
    'one slow check of five is slow',
    'coordinator/core/warnings.ts#isSeenIn',
    instead('medianOf / 2', 'medianOf / 6'),
    1,
  ),
  mutation(
    'what a continent saw of a warning is never too old',
    'coordinator/core/warnings.ts#move',
    always('view.at >= oldest'),
    2,
  ),
  mutation(
    'a warning ends at the check that confirms its end',
    'coordinator/core/warnings.ts#settle',
    instead('warning.below_since', 'null'),
    1,
  ),
  mutation(
    'a failing check says that there is no warning',
    'coordinator/core/warnings.ts#noteWarnings',
    leftOut("result.outcome !== 'ok'"),
    1,
  ),
  mutation(
    'a late pass of a continent moves what it sees',
    'coordinator/core/warnings.ts#move',
    never('before && at <= before.at'),
    4,
  ),
  mutation(
    'a warning begins with the check that confirms it',
    'coordinator/core/warnings.ts#move.since',
    value('at'),
    1,
  ),
  mutation(
    'fewer than two continents for a moment date the end of a warning',
    'coordinator/core/warnings.ts#settle.still',
    value('warning'),
    2,
  ),
  mutation(
    'a further stage is told as soon as one continent has reached it',
    'coordinator/core/warnings.ts#agreedOn',
    instead(
      'Number(b.details.stage ?? 0) - Number(a.details.stage ?? 0)',
      'Number(a.details.stage ?? 0) - Number(b.details.stage ?? 0)',
    ),
    2,
  ),
  mutation(
    'a further stage is told to nobody',
    'coordinator/core/warnings.ts#settle',
    instead("'deepened'", "'changed'"),
    2,
  ),
  mutation(
    'a stage is told as often as the continents come back to it',
    'coordinator/core/warnings.ts#settle',
    leftOut('warning.told.includes(toldAs(agreed))'),
    2,
  ),
  mutation(
    'a stage that is less urgent is told as well',
    'coordinator/core/warnings.ts#settle.isDeeper',
    value('Number(agreed.stage) !== Number(warning.details.stage)'),
    5,
  ),
  mutation(
    'a stage is compared with that of the beginning',
    'coordinator/core/warnings.ts#settle.changed',
    value('still'),
    2,
  ),
];
