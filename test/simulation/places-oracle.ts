import type {
  Effect,
  Incident,
  MonitorState,
  SeenResult,
  Watched,
} from '../../coordinator/core/types.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Turns } from '../../shared/checks/placement.ts';

/** What the rules say of a monitor with chosen places, from all that was decided. */

export type Stretch = { readonly at: number; readonly until: number };
export type PlacesStory = {
  readonly seed: number;
  readonly places: readonly string[];
  readonly inside_counts: boolean;
  readonly interval_ms: number;
  /** Continents and private places from which the target is down. */
  readonly outages: readonly (Stretch & { readonly where: readonly string[] })[];
  readonly losses: readonly (Stretch & { readonly probe: string })[];
  readonly restarts: readonly number[];
  readonly late: boolean;
  readonly end: number;
};

/** Private places of stories have names that begin small. */
export const isPrivatePlace = (place: string): boolean => /^[a-z]/.test(place);

/** Where a result is from, as sides and rules tell it apart. */
export const vantageOf = ({
  place,
  continent,
}: {
  place?: string | undefined;
  continent: string;
}) => place ?? continent;

export const vantagesIn = (places: readonly string[]): readonly string[] => [
  ...new Set(places.map((place) => (isPrivatePlace(place) ? place : (place.split('/')[0] ?? '')))),
];

export type Decided = {
  readonly story: PlacesStory;
  readonly watched: Watched;
  readonly roster: Roster;
  /** In the order in which it was decided. */
  readonly decided: readonly SeenResult[];
  readonly state: MonitorState;
};

const minute = 60_000;

const isInside = ({ from }: Pick<SeenResult, 'from'>): boolean => from.place !== undefined;

/** Whether a side decides: the only one, the outside, or both where the inside counts. */
const decides = ({ places, inside_counts }: PlacesStory, inside: boolean): boolean =>
  !inside || inside_counts || places.every(isPrivatePlace);

const siteOf = (place: string, { probes }: Roster): string | null =>
  probes.find(({ organisation }) => organisation === place)?.site ?? null;

/** What could not fail together: continents, and known sites; all that are not known are one. */
const independent = (vantages: readonly string[], roster: Roster): number => {
  const sites = vantages.filter(isPrivatePlace).map((place) => siteOf(place, roster));
  const known = new Set(sites.filter((site) => site !== null));
  const outside = vantages.filter((place) => !isPrivatePlace(place));
  return outside.length + Math.max(known.size, Math.min(1, sites.length));
};

const isLone = ({ story, roster }: Decided, inside: boolean): boolean =>
  independent(
    vantagesIn(story.places).filter((place) => isPrivatePlace(place) === inside),
    roster,
  ) <= 1;

/** The newest of each continent or place of a side that started up to this moment. */
const viewsOf = ({ decided }: Decided, inside: boolean, until: number): SeenResult[] => {
  const newest = new Map<string, SeenResult>();
  for (const result of decided) {
    if (isInside(result) !== inside || result.at > until) continue;
    const before = newest.get(vantageOf(result.from));
    const isNewer =
      !before || result.at > before.at || (result.at === before.at && result.outcome === 'fail');
    if (isNewer) newest.set(vantageOf(result.from), result);
  }
  return [...newest.values()];
};

const turnOf = ({ story }: Decided): number => story.places.length * story.interval_ms;

/** Each place is checked in its turn by a probe that is there, one check an interval in all. */
export const faultsOfTurns = (
  shares: ReadonlyMap<string, Turns>,
  places: number,
  interval_ms: number,
  roster: Roster,
): string[] => {
  const isWell = (id: string) => roster.probes.some((probe) => probe.id === id && probe.healthy);
  const holders = [...shares.keys()];
  if (holders.some(isWell) && !holders.every(isWell))
    return [`${holders.filter((id) => !isWell(id)).join()} is lost and has turns beside others`];
  // Rule 7: what nobody else may check is kept by a probe that is called absent.
  if (places === 0)
    return holders.some(isWell) ? [`${holders.filter(isWell).join()} has turns of no place`] : [];
  const offsets = [...shares.values()].map(({ offset_ms }) => offset_ms).toSorted((a, b) => a - b);
  const isEven = offsets.every(
    (offset, index) => offset === (offsets[0] ?? 0) + index * interval_ms,
  );
  const areWhole = [...shares.values()].every(
    ({ period_ms }) => period_ms === places * interval_ms,
  );
  return isEven && areWhole && shares.size === places
    ? []
    : [`${shares.size} probes share the turns of ${places} places unevenly`];
};

/** When an incident is written. */
export const faultsOfDecision = (
  about: Decided,
  incident: Incident,
  change: Extract<Effect, { is: 'incident' }>['change'],
  isLive: boolean,
): string[] => {
  const { story, decided } = about;
  const { id, seen, confirmed, started_at, confirmed_at, resolved_at, note } = incident;
  if (!seen) return [`incident ${id} was seen from nowhere`];
  const inside = seen.place !== undefined;
  if (!decides(story, inside)) return [`incident ${id} is of the inside, which does not count`];
  const isSeen = decided.some(
    ({ at, outcome, from }) => outcome === 'fail' && at === started_at && from.probe === seen.probe,
  );
  if (!isSeen) return [`nobody saw the failure with which incident ${id} began`];
  if (confirmed_at !== null) {
    const faults = confirmed ? faultsOfPair(about, incident) : faultsOfRun(about, incident);
    if (faults.length > 0) return faults;
  }
  const isEnd = change === 'closed' && confirmed_at !== null && note === null && isLive;
  return isEnd && resolved_at !== null ? faultsOfEnd(about, id) : [];
};

const faultsOfPair = ({ roster, decided }: Decided, incident: Incident): string[] => {
  const { id, seen, confirmed, confirmed_at } = incident;
  if (!seen || !confirmed || confirmed_at === null) return [];
  if ((seen.place === undefined) !== (confirmed.place === undefined))
    return [`incident ${id} was confirmed by the other side`];
  if (
    independent([vantageOf(seen), vantageOf(confirmed)], roster) < 2 ||
    vantageOf(seen) === vantageOf(confirmed)
  )
    return [
      `${vantageOf(confirmed)} confirmed what ${vantageOf(seen)} saw: both could fail together`,
    ];
  const inside = confirmed.place !== undefined;
  const isPaired = decided.some(
    (one) =>
      one.outcome === 'fail' &&
      isInside(one) === inside &&
      independent([vantageOf(one.from), vantageOf(confirmed)], roster) === 2 &&
      Math.abs(one.at - confirmed_at) <= minute,
  );
  return isPaired ? [] : [`incident ${id} has no failure within a minute that confirms it`];
};

/** How far apart failures of a place that is alone count, at least. */
const apart = 4_500;

const faultsOfRun = (
  about: Decided,
  { id, seen, started_at, confirmed_at }: Incident,
): string[] => {
  if (!seen || confirmed_at === null) return [];
  const inside = seen.place !== undefined;
  if (!isLone(about, inside)) return [`incident ${id} was confirmed by one place alone`];
  let [last, more] = [started_at, 0];
  const fails = about.decided.filter(
    (one) => one.outcome === 'fail' && isInside(one) === inside && one.at <= confirmed_at,
  );
  for (const { at } of fails.toSorted((a, b) => a.at - b.at)) {
    if (at < last + apart) continue;
    [last, more] = [at, more + 1];
  }
  if (more < 2) return [`incident ${id} was confirmed alone by ${more} more failures`];
  const passing = viewsOf(about, inside, confirmed_at).find(
    ({ outcome, at }) => outcome === 'ok' && confirmed_at - at <= about.story.interval_ms,
  );
  return passing && !about.story.late
    ? [`incident ${id} was confirmed while ${vantageOf(passing.from)} passed`]
    : [];
};

/** An outage ends once no side that decides sees it. */
const faultsOfEnd = (about: Decided, id: string): string[] =>
  [false, true]
    .filter((inside) => decides(about.story, inside))
    .flatMap((inside) => {
      const now = about.state.clock;
      const fresh = viewsOf(about, inside, now).filter(({ at }) => now - at <= 2 * turnOf(about));
      const failing = fresh.filter(
        ({ at, outcome }) => outcome === 'fail' && now - at <= about.story.interval_ms,
      );
      const isDown = isLone(about, inside)
        ? failing.length > 0 && failing.length === fresh.length
        : independent(
            failing.map(({ from }) => vantageOf(from)),
            about.roster,
          ) >= 2;
      return isDown ? [`incident ${id} ended while ${inside ? 'inside' : 'outside'} saw it`] : [];
    });

/** At the end: all is over, nothing is covered by what does not count, whole outages were found. */
export const faultsOfLife = (about: Decided, incidents: readonly Incident[]): string[] => {
  const { story, watched, state, decided } = about;
  if (state.incident) return [`incident ${state.incident.id} never ended`];
  const counted = decided.filter((one) => decides(story, isInside(one))).map(({ at }) => at);
  const until =
    Math.max(watched.created_at, ...counted) + 2 * watched.interval_ms + watched.timeout_ms;
  if (state.covered_until > until) return ['time is covered by results that do not count'];
  if (story.losses.length > 0 || story.restarts.length > 0 || story.late) return [];
  return story.outages.flatMap(({ at, until: over, where }) => {
    const found = incidents.filter(
      (incident) => incident.started_at < over && (incident.resolved_at ?? over) > at,
    );
    const isWhole = (inside: boolean) => {
      const side = vantagesIn(story.places).filter((place) => isPrivatePlace(place) === inside);
      return (
        side.length > 0 && decides(story, inside) && side.every((place) => where.includes(place))
      );
    };
    const isLong = over - at > turnOf(about) + story.interval_ms + 30_000;
    const isFound = found.some(({ confirmed_at }) => confirmed_at !== null);
    return isLong && (isWhole(false) || isWhole(true)) && !isFound
      ? [`an outage at ${at} of ${where.join()} was never confirmed`]
      : [];
  });
};
