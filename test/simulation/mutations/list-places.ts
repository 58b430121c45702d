import { always, instead, leftOut, mutationsOf, never, value } from './types.ts';

const mutation = mutationsOf('places');

/** What could be wrong with places, and with what the two sides of a monitor decide. */
export const placesMutations = [
  mutation(
    'a private and a public place confirm each other',
    'coordinator/core/views.ts#tallyOf.own',
    value('views'),
    9,
  ),
  mutation(
    'two private places behind one address confirm each other',
    'coordinator/core/places.ts#areApart',
    instead('![null, site].includes(siteOf(other.place, roster))', 'one.place !== other.place'),
    2,
  ),
  mutation(
    'places of which nobody knows where they are confirm each other',
    'coordinator/core/places.ts#countSites',
    leftOut('known.delete(null)'),
    3,
  ),
  mutation(
    'the inside decides although it does not count',
    'coordinator/core/places.ts#isAside',
    never('inside_counts !== true && !places.every(isPrivatePlace)'),
    8,
  ),
  mutation(
    'results of the inside close an outage of the outside',
    'coordinator/core/outage.ts#failsBeside',
    never('isFailing(draft, own.place === undefined ? inside : outside, draft.moment.network)'),
    81,
  ),
  mutation(
    'results of the inside count as coverage',
    'coordinator/core/decide.ts#onResult',
    instead('if (mayDecide(draft, result)) moveAside(draft, result);', 'coverTime(draft, result);'),
    12,
  ),
  mutation(
    'a place without a healthy probe keeps its turns beside others',
    'shared/checks/placement.ts#placesOf.served',
    instead('isWell', '() => true'),
    4,
  ),
  mutation(
    'a probe checks a region that is not its own',
    'shared/checks/placement.ts#placeFor',
    instead(
      'at !== undefined && chosen.includes(at) ? at : undefined',
      'chosen.find((place) => place.startsWith(continent)) ?? at',
    ),
    50,
  ),
  mutation(
    'one place of a site confirms while another passes',
    'coordinator/core/outage.ts#mayRun',
    always('!draft.state.watched.places || tallyOf(draft, from).passing.length === 0'),
    19,
  ),
  mutation(
    'what one side confirms is dated by what the other saw',
    'coordinator/core/outage.ts#confirmIfSeenByTwo',
    instead('takeOver', 'partFromLonely'),
    19,
  ),
];
