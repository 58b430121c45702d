import { always, instead, leftOut, mutationsOf, never, value } from './types.ts';

const mutation = mutationsOf('network');

/** Mistakes about places that may be at fault themselves (rules 10, 16, 45 and 46). */
export const apartMutations = [
  mutation(
    'two places confirm, however sick their probes are',
    'coordinator/core/outage.ts#areDoubted',
    always('isWell(second) && isWell(partner)'),
    12,
  ),
  mutation(
    'one probe that is well vouches for both',
    'coordinator/core/outage.ts#areDoubted',
    instead('isWell(second) && isWell(partner)', 'isWell(second) || isWell(partner)'),
    14,
  ),
  mutation(
    'a third place that fails does not confirm what two may not',
    'coordinator/core/outage.ts#areDoubted',
    never('countApart(failing, draft.moment.network) > 2'),
    14,
  ),
  mutation(
    'places that have not answered yet are not waited for',
    'coordinator/core/outage.ts#areDoubted',
    never('clock < lostFrom(asked_at)'),
    12,
  ),
  mutation(
    'nobody is ever regional',
    'coordinator/core/places.ts#regionalPlaces',
    always('regional.length === 0'),
    2,
  ),
  mutation('a place is regional at once', 'coordinator/core/places.ts#aloneFor', value('0'), 3),
  mutation(
    'what a place saw of an outage of all makes it regional',
    'coordinator/core/places.ts#failsItselfSince',
    always('failing_since === null || last_down === null || failing_since > last_down.to'),
    89,
  ),
  mutation(
    'whoever fails for long is regional, though others fail with it',
    'coordinator/core/places.ts#isRegional',
    leftOut('!others.some(mayFail)'),
    23,
  ),
  mutation(
    'a place is regional before all others have answered',
    'coordinator/core/places.ts#isRegional.wasWatched',
    value('failing_since !== null'),
    77000014,
  ),
  mutation(
    'a place becomes regional within an outage',
    'coordinator/core/places.ts#isRegional',
    leftOut('incident.progress.regional?.includes(one.place) === true'),
    9,
  ),
  mutation(
    'a regional place keeps its incident open',
    'coordinator/core/decide.ts#closeRegional',
    never('draft.reach.regional.has(vantageOf(watched, incident.seen))'),
    2,
  ),
  mutation(
    'a regional place counts among those that fail',
    'coordinator/core/views.ts#tallyOf',
    always('reach.regional.size === 0'),
    2,
  ),
];
