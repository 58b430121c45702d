import { always, instead, mutationsOf, value } from './types.ts';

const mutation = mutationsOf('cause');
const file = 'coordinator/core/causes.ts';

/** What could be wrong with the causes that outages have in common (rules 48 and 49). */
export const causeMutations = [
  mutation('few of those that share it need fail', `${file}#leastPart`, value('0.1'), 1),
  mutation('thirty are needed', `${file}#leastMembers`, value('30'), 1),
  mutation(
    'anything explains a failure in any layer',
    `${file}#canFail`,
    always('layers.includes(layer)'),
    1,
  ),
  mutation('they need not fail alike', `${file}#togetherOf`, always('some.length >= least'), 1),
  mutation(
    'no moment needs to be common',
    `${file}#beginningOf`,
    instead('most < least', 'false'),
    1,
  ),
  mutation('clocks differ by ten minutes', `${file}#slackMs`, value('600_000'), 1),
  mutation(
    'it is the least that explains them',
    `${file}#strongest`,
    instead('other.evidence - one.evidence', 'one.evidence - other.evidence'),
    1,
  ),
];
