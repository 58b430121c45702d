import type { Incident } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Made } from './database.ts';
import { type Known, newest, newestByContinent, recent } from './oracle-known.ts';
import type { Round } from './round.ts';
import type { Truth } from './truth.ts';

/** How an open incident is dated, by rules 3 and 10. */

const minute = 60_000;

/**
 * What must be so of every open incident, whatever came when. `over`: when the last incident of
 * this monitor ended, and when that was decided.
 */
type Dated = {
  readonly incident: Incident;
  readonly decided: readonly Made[];
  readonly turn_ms: number;
  readonly over: { readonly at: number; readonly decided_at: number };
};

/**
 * What was decided while the incident before it was open belongs to that one, also if it is dated
 * to have ended sooner.
 */
const isItsOwn = ({ over }: Dated, { at, decided_at }: Made): boolean =>
  at >= over.at && (decided_at ?? 0) > over.decided_at;

const passes = (decided: readonly Made[], from: number, to: number): boolean =>
  decided.some(({ outcome, at }) => outcome === 'ok' && at >= from && at <= to);

/**
 * Rule 10: what its continent alone saw before others passed is another matter than what is
 * confirmed later.
 */
const wasLonely = ({ incident: { started_at, confirmed_at, seen }, decided }: Dated): boolean =>
  confirmed_at !== null &&
  decided.some(
    (first) =>
      first.outcome === 'fail' &&
      first.continent === seen?.continent &&
      first.at < started_at &&
      decided.some(
        ({ outcome, continent, at }) =>
          outcome === 'ok' && continent !== seen.continent && at > first.at && at < confirmed_at,
      ),
  );

/** Rule 3: nobody failed shortly before it began, if nobody passed in between. */
const faultsOfBeginning = (dated: Dated): string[] => {
  const { incident, decided, turn_ms, over } = dated;
  const { id, started_at, seen } = incident;
  const since = Math.max(started_at - Math.min(minute, 2 * turn_ms), over.at);
  const earlier = decided.find(
    (made) =>
      made.outcome === 'fail' &&
      made.at > since &&
      made.at < started_at &&
      isItsOwn(dated, made) &&
      !passes(decided, made.at, started_at),
  );
  if (earlier?.continent === seen?.continent && wasLonely(dated)) return [];
  return earlier
    ? [
        `incident ${id} began at ${started_at}, although ${earlier.continent} failed at ${earlier.at} already`,
      ]
    : [];
};

/**
 * Rules 3 and 10: nobody else failed between its beginning and its confirmation, within a minute of
 * a failure of yet another continent. What the incident before it had seen until its end belongs to
 * that one.
 */
const faultsOfConfirmation = (dated: Dated): string[] => {
  const { incident, decided } = dated;
  const { id, started_at, seen, confirmed_at, confirmed } = incident;
  if (!seen || !confirmed || confirmed_at === null || passes(decided, started_at, confirmed_at))
    return [];
  const failures = decided.filter(
    (made) =>
      made.outcome === 'fail' &&
      made.at >= started_at &&
      made.at < confirmed_at &&
      isItsOwn(dated, made),
  );
  const earlier = failures.find(
    (second) =>
      second.continent !== seen.continent &&
      failures.some(
        (first) =>
          first.continent !== second.continent &&
          first.at <= second.at &&
          second.at - first.at <= minute,
      ),
  );
  return earlier
    ? [
        `incident ${id} was confirmed at ${confirmed_at}, although ${earlier.continent} failed at ${earlier.at} already`,
      ]
    : [];
};

export const faultsOfDates = (dated: Dated): string[] => {
  const known = { ...dated, decided: recent(dated.decided, 2_000) };
  return [...faultsOfBeginning(known), ...faultsOfConfirmation(known)];
};

/**
 * Rule 10: after a refutation the lonely failure is another matter than the outage that is
 * confirmed.
 */
const lonelyBefore = (
  incident: Incident,
  decided: readonly Made[],
  fresh: readonly Made[],
): string[] => {
  const { started_at, seen, confirmed_at } = incident;
  const isBetween = ({ at }: Made): boolean => at > started_at && at < (confirmed_at ?? 0);
  const known = recent(decided).filter(
    (made) => !fresh.includes(made) && !made.stale && isBetween(made),
  );
  const refuted = known.find((made) => made.outcome === 'ok' && made.continent !== seen?.continent);
  // Two that failed together by then may have had to show that they are well first (rule 46).
  const second = known.find(
    ({ outcome, continent, at }) =>
      outcome === 'fail' && continent !== seen?.continent && at - started_at <= minute,
  );
  const failedAgain = known.find(
    ({ outcome, continent, at }) =>
      outcome === 'fail' &&
      continent === seen?.continent &&
      at < (second?.at ?? Number.POSITIVE_INFINITY),
  );
  return refuted && failedAgain
    ? [
        `it was confirmed from its first failure, although ${refuted.continent} passed at ${refuted.at} while it went on failing`,
      ]
    : [];
};

/**
 * What must be so of every incident the moment it is written, by rules 1, 3, 8, 10 to 14 and 16.
 * Says what is not.
 */

type Scene = {
  readonly monitor: number;
  readonly known: Known;
  /**
   * Continents that may check it, by its configuration and the installation; and those that can
   * now.
   */
  readonly places: readonly Continent[];
  readonly able: readonly Continent[];
  readonly interval_ms: number;
  /** Results of this round, in the order of start in which they must have been decided. */
  readonly fresh: readonly Made[];
  /** Whether an incident of this monitor was open before what was decided now. */
  readonly wasOpen: boolean;
  /** Which places are regional by what is known now, or were so on the way there. */
  readonly leftOut: readonly Continent[];
  /** When the incidents of this monitor began that were decided now. */
  readonly begun: readonly number[];
  readonly truth: Truth;
};
const loneStep = 4_500;
const late = 12_000;
const isFail = ({ outcome }: Made): boolean => outcome === 'fail';

const fails = ({ known }: Scene): Made[] => [
  ...new Set([...recent(known.decided, 2000), ...known.all].filter(isFail)),
];

const opened = (incident: Incident, scene: Scene): string[] => {
  const { seen, started_at, confirmed_at } = incident;
  if (!seen) return ['an https incident was seen from nowhere'];
  const first = fails(scene).find(
    (made) => made.at === started_at && `probe-${made.probe}` === seen.name,
  );
  if (!first) return [`nobody saw the failure at ${started_at} with which it opened`];
  const earlier = scene.known.decided.slice(0, scene.known.decided.length - scene.fresh.length);
  const passedSince = newest(
    earlier,
    (made) => made.probe === first.probe && made.outcome === 'ok' && made.at > started_at,
  );
  // Rules 3.3 and 3.4: while one is open, a late failure counts in order of start. What it confirms
  // before that pass is an incident of its own.
  const isRetimed =
    scene.wasOpen && confirmed_at !== null && passedSince && confirmed_at < passedSince.at;
  return passedSince && !isRetimed
    ? [
        `it opened with a failure of ${started_at}, older than a pass of the same probe at ${passedSince.at}`,
      ]
    : [];
};

const confirmedAlone = (incident: Incident, scene: Scene): string[] => {
  if (scene.places.length > 1)
    return ['it was confirmed by one continent although others are configured'];
  const { started_at, confirmed_at } = incident;
  const within = scene.known.decided.filter(
    (made) => made.at >= started_at && made.at <= (confirmed_at ?? 0),
  );
  // Where two of its probes start together and disagree, the failure counts.
  const failedToo = (time: number) => within.some((made) => isFail(made) && made.at === time);
  if (within.some(({ outcome, at }) => outcome === 'ok' && at > started_at && !failedToo(at)))
    return ['a lone continent confirmed across a pass'];
  let last = started_at;
  let more = 0;
  for (const { at } of within.filter(isFail).toSorted((a, b) => a.at - b.at)) {
    if (at < last + loneStep) continue;
    last = at;
    more += 1;
  }
  return more >= 2 ? [] : [`a lone continent confirmed with ${more} more failures`];
};

const confirmed = (incident: Incident, scene: Scene): string[] => {
  const { seen, confirmed: by, started_at, confirmed_at } = incident;
  if (!seen || confirmed_at === null) return [];
  if (!by) return confirmedAlone(incident, scene);
  const lonely = lonelyBefore(incident, scene.known.decided, scene.fresh);
  if (lonely.length > 0) return lonely;
  const { regional, regionalBefore } = scene.known;
  const alone = [seen, by].find(
    ({ continent }) => regional.includes(continent) && regionalBefore.includes(continent),
  );
  if (alone)
    return [`it was confirmed with ${alone.continent}, which had failed alone for five minutes`];
  if (by.continent === seen.continent) return ['it was confirmed from the continent that saw it'];
  const all = fails(scene);
  const seconds = all.filter(
    (made) =>
      `probe-${made.probe}` === by.name &&
      (made.at === confirmed_at || (confirmed_at === started_at && made.at <= started_at)),
  );
  if (seconds.length === 0)
    return [`nobody saw the failure at ${confirmed_at} with which it was confirmed`];
  const together = all.filter((made) =>
    seconds.some(
      (second) => made.continent !== second.continent && Math.abs(made.at - second.at) <= minute,
    ),
  );
  if (together.length === 0)
    return ['no failure of another continent lies within a minute of the one that confirmed'];
  const isReal = ({ monitor, continent, started }: Made) =>
    scene.truth.isDown(monitor, continent, started);
  if ([...seconds, ...together].some(isReal)) return confirmedBySick(incident, scene);
  // Where there are no others to ask, nothing tells two that lie from an outage.
  return scene.places.length <= 2 ? [] : ['a fault on our side alone was confirmed as an outage'];
};

/** Rule 46: two that fail confirm nothing if one of them is sick and most of the others pass. */
const confirmedBySick = ({ started_at }: Incident, scene: Scene): string[] => {
  const { known, places, able, interval_ms, truth } = scene;
  const now = clockOf(known.decided);
  const views = newestByContinent(known.decided, places).filter(
    ({ at }) => now - at <= 2 * Math.max(1, able.length) * interval_ms,
  );
  const failing = views.filter(isFail);
  const others = able.filter((place) => !failing.some(({ continent }) => continent === place));
  const passing = views.filter(
    ({ outcome, at, continent }) =>
      outcome === 'ok' && at >= started_at && others.includes(continent),
  );
  const sick = failing.find(
    ({ probe, started, monitor }) => truth.sickness(probe, started, monitor) === 'lies',
  );
  return sick && failing.length === 2 && passing.length > others.length / 2
    ? [`${sick.continent} is sick and confirmed, although ${passing.length} others pass`]
    : [];
};

/** The results of this round one after the other: whether at some point of it this was so. */
const atSomePoint = (scene: Scene, holds: (known: readonly Made[]) => boolean): boolean => {
  const before = scene.known.decided.slice(
    -600 - scene.fresh.length,
    scene.known.decided.length - scene.fresh.length,
  );
  return scene.fresh.some((_, index) => holds([...before, ...scene.fresh.slice(0, index + 1)]));
};

/**
 * Rule 12: the check with which fewer than two failed, for the last time; undefined where that was
 * no check but time that passed.
 */
const fellBelowTwo = (
  known: readonly Made[],
  { places, able, interval_ms }: Scene,
): number | undefined => {
  const views = new Map<Continent, Made>();
  let now = 0;
  let wereTwo = false;
  let fell: number | undefined;
  for (const made of known) {
    now = Math.max(now, made.at);
    const before = views.get(made.continent);
    if (!before || made.at > before.at || (made.at === before.at && isFail(made)))
      views.set(made.continent, made);
    const fresh = [...views.values()].filter(
      ({ at, continent }) =>
        places.includes(continent) && now - at <= 2 * able.length * interval_ms,
    );
    const areTwo = fresh.filter(isFail).length >= 2;
    if (areTwo) fell = undefined;
    else if (wereTwo)
      fell =
        made.outcome === 'ok' && views.get(made.continent) === made && before?.outcome === 'fail'
          ? made.at
          : undefined;
    wereTwo = areTwo;
  }
  return fell;
};

const endedByPasses = (incident: Incident, scene: Scene): string[] => {
  if (scene.places.length === 1) {
    const twice = atSomePoint(scene, (known) => {
      // By the true time: a clock that is set back mixes the order of what it dates. What a probe
      // kept is decided beside what another saw later: the last two are those before it.
      const until = known.at(-1)?.started ?? 0;
      const last = known
        .filter(({ started }) => started <= until)
        .toSorted((a, b) => a.started - b.started)
        .slice(-2);
      return (
        last.length === 2 &&
        last.every(({ outcome, at }) => outcome === 'ok' && at > incident.started_at)
      );
    });
    return twice ? [] : ['a lone continent ended an outage without two passes in a row'];
  }
  const before = scene.known.lastDown;
  // A failure from within the outage before, as a wrong clock dates it, is none of this one (rule 3).
  const isOfLast = ({ at, outcome }: Made): boolean =>
    outcome === 'fail' &&
    at < incident.started_at &&
    before !== null &&
    at >= before.from &&
    at < before.to;
  const isOver = (all: readonly Made[]): boolean => {
    const known = all.filter((made) => !isOfLast(made));
    const now = all.reduce((latest, { at }) => Math.max(latest, at), 0);
    const isView = ({ at }: Made, places: number) =>
      now - at <= 2 * scene.interval_ms * Math.max(1, places);
    const views = newestByContinent(known, scene.places);
    const passing = views.filter(
      (made) => made.outcome === 'ok' && isView(made, scene.places.length),
    ).length;
    const failing = views.filter((made) => isFail(made) && isView(made, scene.able.length)).length;
    return failing <= 1 && (passing >= 2 || passing >= scene.able.length);
  };
  // What came late was decided in another order than that in which it was seen.
  const isLate = recent(scene.known.decided, 600).some(
    ({ at, decided_at, stale }) =>
      at >= incident.started_at && (stale || (decided_at ?? at) - at > late),
  );
  const asItCame = recent(scene.known.decided, 600);
  const inOrder = asItCame.toSorted((a, b) => a.at - b.at);
  // Late results may show that it was over before the next failure (rule 3.4).
  const wasOver = () =>
    inOrder.some(
      ({ at }, index) => at >= (incident.resolved_at ?? 0) && isOver(inOrder.slice(0, index + 1)),
    );
  if (!atSomePoint(scene, isOver) && !(isLate && wasOver()))
    return ['an outage ended although two continents failed, or fewer than two passed'];
  if (isLate) return [];
  // What starts within the same second may arrive in another order, and be decided in either: as
  // it came, or in order of start (rule 3.3).
  const fell = [asItCame, inOrder].map((known) => fellBelowTwo(known, scene));
  // A fall from before is another outage's: this one ended because a probe is no longer believed.
  // Nor does a check date the fall of one that another probe kept up which was believed until later.
  const isDated = fell.some(
    (at) =>
      at === undefined ||
      at < incident.started_at ||
      at <= scene.known.distrustedAt ||
      incident.resolved_at === Math.max(at, incident.confirmed_at ?? at),
  );
  return isDated
    ? []
    : [
        `it ended at ${incident.resolved_at}, although fewer than two failed since the check at ${fell.join(' or ')}`,
      ];
};

const closed = (incident: Incident, scene: Scene): string[] => {
  const { note, seen, started_at, confirmed_at, resolved_at } = incident;
  if (note === null && confirmed_at !== null) return endedByPasses(incident, scene);
  const all = recent(scene.known.decided, 2000);
  if (note === null) {
    const passed = all.some(
      (made) =>
        made.outcome === 'ok' && made.continent === seen?.continent && made.at === resolved_at,
    );
    return passed ? [] : ['a lonely failure ended without a pass of its continent'];
  }
  if (note === 'seen from one continent only') {
    const refuted = all.some(
      (made) => made.outcome === 'ok' && made.continent !== seen?.continent && made.at > started_at,
    );
    if (!refuted) return ['a failure was called lonely although nobody else passed'];
    // Another incident begins there (rule 10), or its place has failed alone for long (rule 45).
    const isLeftOut = scene.leftOut.some((place) => place === seen?.continent);
    return isLeftOut || scene.begun.includes(resolved_at ?? 0)
      ? []
      : [`${seen?.continent} was left out, although it had not failed alone for five minutes`];
  }
  if (note === 'no longer observed') {
    const last = newest(scene.known.decided, (made) => made.continent === seen?.continent);
    if (!last) return [];
    const [over, turn] = [
      (resolved_at ?? 0) - Math.max(last.at, started_at),
      scene.places.length * scene.interval_ms,
    ];
    if (over < 2 * scene.interval_ms && last.at >= started_at)
      return ['it was called unobserved although its continent had reported'];
    return over > 2 * turn
      ? [
          `it was called unobserved ${over} ms after its continent had reported, more than two turns`,
        ]
      : [];
  }
  return [];
};

/** What is wrong with this incident, given how it stood before. */
export const faultsOf = (
  incident: Incident,
  before: Incident | undefined,
  scene: Scene,
): string[] => {
  const { started_at, confirmed_at, resolved_at } = incident;
  const faults: string[] = [];
  if (confirmed_at !== null && confirmed_at < started_at)
    faults.push('it was confirmed before it started');
  if (resolved_at !== null && resolved_at < (confirmed_at ?? started_at))
    faults.push('it was resolved before it was confirmed');
  if (!before) faults.push(...opened(incident, scene));
  if (before?.resolved_at != null) faults.push('it was written again after its end');
  if (confirmed_at !== null && (before?.confirmed_at ?? null) === null)
    faults.push(...confirmed(incident, scene));
  if (resolved_at !== null) faults.push(...closed(incident, scene));
  return faults.map(
    (fault) =>
      `monitor ${scene.monitor}, incident ${incident.id} (started ${started_at}): ${fault}`,
  );
};

/**
 * What each decision must lead to at once, by rules 4, 10, 11, 12 and 17: not only what stands in
 * the incidents, but what does not.
 */

type Decided = {
  readonly monitor: number;
  readonly known: Known;
  readonly places: readonly Continent[];
  readonly able: readonly Continent[];
  readonly interval_ms: number;
  /** What this round decided of it, in that order. */
  readonly fresh: readonly Made[];
  /** When the last incident of this monitor ended, and when that was decided. */
  readonly over: Dated['over'];
  /** The incident that was open before, and is after. */
  readonly before: Incident | undefined;
  readonly after: Incident | undefined;
  /** When others were last asked about it, this round included. */
  readonly askedAt: number;
  readonly truth: Truth;
};

const together = 60_000;
const live = 10_000;
/** Questions are a second apart; what was asked in the same second counts. */
const askedLately = 1_000;

/** Views that are not older than two turns at this time. */
const viewsOf = (
  known: readonly Made[],
  { places, able, interval_ms }: Decided,
  now: number,
): Made[] =>
  newestByContinent(known, places).filter(
    ({ at }) => now - at <= 2 * Math.max(1, able.length) * interval_ms,
  );

const clockOf = (known: readonly Made[]): number =>
  known.slice(-200).reduce((latest, { at }) => Math.max(latest, at), 0);

/**
 * Rules 10 and 12: with what was decided last, two that fail together confirm, and two that pass
 * end it.
 */
const standsTooLong = (of: Decided): string[] => {
  const { known, fresh, before, after, places, able, over, truth } = of;
  const last = fresh.at(-1);
  if (!last || last.stale || before?.id !== after?.id || !after || places.length < 2) return [];
  if (newest(known.decided, ({ continent }) => continent === last.continent) !== last) return [];
  const views = viewsOf(known.decided, of, clockOf(known.decided));
  const failing = views.filter(isFail);
  if (after.confirmed_at === null) {
    // Rule 3.5: what came late from within an outage that is over confirms nothing.
    const confirming = failing.filter(
      ({ at, decided_at }) => at >= over.at || (decided_at ?? 0) <= over.decided_at,
    );
    const pairs = confirming.filter((made) =>
      confirming.some(
        ({ continent, at }) => continent !== made.continent && Math.abs(at - made.at) <= together,
      ),
    );
    // Rule 46: of two, one that is sick confirms nothing while others may pass.
    const isHeld =
      pairs.length === 2 &&
      places.length > 2 &&
      pairs.some(
        ({ probe, started, monitor }) => truth.sickness(probe, started, monitor) === 'lies',
      );
    return isFail(last) && pairs.length >= 2 && !isHeld
      ? [`it is not confirmed, although ${pairs.length} continents failed within a minute`]
      : [];
  }
  const passing = views.filter(
    ({ outcome, at }) => outcome === 'ok' && at >= after.started_at,
  ).length;
  const isOver = failing.length <= 1 && (passing >= 2 || (passing > 0 && passing >= able.length));
  return !isFail(last) && isOver
    ? [`it stays open, although ${failing.length} fail and ${passing} of ${able.length} pass`]
    : [];
};

/** Rule 11: each further failure asks all others again. */
const wasNotAsked = (
  { known, fresh, before, after, able, askedAt }: Decided,
  now: number,
): string[] => {
  if (!after || after.confirmed_at !== null || before?.id !== after.id || after.seen === null)
    return [];
  const failed = fresh.find(
    (made) =>
      isFail(made) &&
      !made.stale &&
      now - made.at < live &&
      newest(known.decided, ({ continent }) => continent === made.continent) === made,
  );
  const others = failed && able.some((place) => place !== failed.continent);
  return others && now - askedAt > askedLately
    ? [`it failed again at ${failed.at}, and nobody was asked since ${askedAt}`]
    : [];
};

/**
 * Rule 4: a "down" goes out for an outage that two continents see, not for one that is over in one
 * of them.
 */
const wasToldAlone = (of: Decided, round: Round): string[] => {
  const { monitor, known, fresh, places } = of;
  const isTold = round.effects.some(
    ({ monitor: about, effect }) =>
      about === monitor && effect.is === 'alert' && effect.event === 'down',
  );
  if (!isTold || places.length < 2) return [];
  const before = known.decided.slice(0, known.decided.length - fresh.length);
  const wide = { ...of, able: places };
  const steps = [
    before,
    ...fresh.map((_, index) => [...before.slice(-600), ...fresh.slice(0, index + 1)]),
  ];
  const areTwo = steps.some(
    (one) => viewsOf(one, wide, round.decidedAt).filter(isFail).length >= 2,
  );
  return areTwo ? [] : ['a "down" was raised, although fewer than two continents fail'];
};

export const faultsOfDecision = (of: Decided, round: Round): string[] => {
  const { monitor, known, before, after } = of;
  const faults = [
    ...standsTooLong(of),
    ...wasNotAsked(of, round.decidedAt),
    ...wasToldAlone(of, round),
  ];
  if (known.isPaused && after && !before) faults.push('it was opened while the monitor is paused');
  return faults.map(
    (fault) =>
      `monitor ${monitor}, incident ${after?.id ?? before?.id}, at ${round.decidedAt}: ${fault}`,
  );
};
