import { core, type Mutation } from './types.ts';

const placement = 'shared/checks/placement.ts';

const mutation = (
  name: string,
  file: string,
  text: string,
  instead: string,
  seed: number,
): Mutation => ({ name, file, text, instead, tells: 'places', seed });

/** What could be wrong with places, and with what the two sides of a monitor decide. */
export const placesMutations: readonly Mutation[] = [
  mutation(
    'a private and a public place confirm each other',
    core('views'),
    'const own = reach.inside ? views.filter((view) => sideOf(view.from) === sideOf(from)) : views;',
    'const own = sideOf(from) === "outside" ? views : views;',
    9,
  ),
  mutation(
    'two private places behind one address confirm each other',
    core('sides'),
    'return site !== null && ![null, site].includes(siteOf(other.place, roster));',
    'return site !== null && one.place !== other.place;',
    2,
  ),
  mutation(
    'places of which nobody knows where they are confirm each other',
    core('sides'),
    'known.delete(null);',
    '',
    3,
  ),
  mutation(
    'the inside decides although it does not count',
    core('sides'),
    'inside_counts !== true && !places.every(isPrivatePlace)',
    'inside_counts === null',
    8,
  ),
  mutation(
    'results of the inside close an outage of the outside',
    core('outage'),
    'return isFailing(draft, own.place === undefined ? inside : outside, draft.moment.network);',
    'return own.place === undefined && isFailing(draft, inside, draft.moment.network) && outside === inside;',
    81,
  ),
  mutation(
    'results of the inside count as coverage',
    core('decide'),
    'if (mayDecide(draft, result)) moveAside(draft, result);',
    'coverTime(draft, result);',
    12,
  ),
  mutation(
    'a place without a healthy probe keeps its turns beside others',
    placement,
    'hereFor(assignment, place, roster)?.some(isWell)',
    'hereFor(assignment, place, roster)?.some(() => true)',
    4,
  ),
  mutation(
    'a probe checks a region that is not its own',
    placement,
    'return at !== undefined && chosen.includes(at) ? at : undefined;',
    'return chosen.find((place) => place.startsWith(continent)) ?? at;',
    50,
  ),
  mutation(
    'one place of a site confirms while another passes',
    core('outage'),
    'return !draft.state.watched.places || tallyOf(draft, from).passing.length === 0;',
    'return draft.state.views !== tallyOf(draft, from).passing;',
    19,
  ),
  mutation(
    'what one side confirms is dated by what the other saw',
    core('outage'),
    ': takeOver(draft, incident, pair);',
    ': partFromLonely(draft, incident, pair);',
    19,
  ),
];
