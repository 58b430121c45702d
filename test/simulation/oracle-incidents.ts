import type { Incident } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { lonelyBefore } from './oracle-beginnings.ts';
import { type Known, newest, newestByContinent, recent } from './oracle-views.ts';
import type { Made } from './result-record.ts';
import type { Truth } from './truth.ts';

/** What must be so of every incident the moment it is written, by rules 1, 3, 8, 10 to 14 and 16. Says what is not. */

export type Scene = {
  readonly monitor: number;
  readonly known: Known;
  /** Continents that may check it, by its configuration and the installation; and those that can now. */
  readonly places: readonly Continent[];
  readonly able: readonly Continent[];
  readonly interval_ms: number;
  /** Results of this round, in the order of start in which they must have been decided. */
  readonly fresh: readonly Made[];
  readonly truth: Truth;
};

const minute = 60_000;
const loneStep = 4_500;
const late = 12_000;
const isFail = ({ outcome }: Made): boolean => outcome === 'fail';

const fails = ({ known }: Scene): Made[] => recent(known.decided, 2000).filter(isFail);

const opened = (incident: Incident, scene: Scene): string[] => {
  const { seen, started_at } = incident;
  if (!seen) return ['an https incident was seen from nowhere'];
  const first = fails(scene).find((made) => made.at === started_at && `probe-${made.probe}` === seen.name);
  if (!first) return [`nobody saw the failure at ${started_at} with which it opened`];
  const earlier = scene.known.decided.slice(0, scene.known.decided.length - scene.fresh.length);
  const passedSince = newest(earlier, (made) => made.probe === first.probe && made.outcome === 'ok' && made.at > started_at);
  return passedSince ? [`it opened with a failure of ${started_at}, older than a pass of the same probe at ${passedSince.at}`] : [];
};

const confirmedAlone = (incident: Incident, scene: Scene): string[] => {
  if (scene.places.length > 1) return ['it was confirmed by one continent although others are configured'];
  const { started_at, confirmed_at } = incident;
  const within = scene.known.decided.filter((made) => made.at >= started_at && made.at <= (confirmed_at ?? 0));
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
  if (by.continent === seen.continent) return ['it was confirmed from the continent that saw it'];
  const all = fails(scene);
  const seconds = all.filter(
    (made) => `probe-${made.probe}` === by.name && (made.at === confirmed_at || (confirmed_at === started_at && made.at <= started_at)),
  );
  if (seconds.length === 0) return [`nobody saw the failure at ${confirmed_at} with which it was confirmed`];
  const together = all.filter((made) =>
    seconds.some((second) => made.continent !== second.continent && Math.abs(made.at - second.at) <= minute),
  );
  if (together.length === 0) return ['no failure of another continent lies within a minute of the one that confirmed'];
  const isReal = ({ monitor, continent, started }: Made) => scene.truth.isDown(monitor, continent, started);
  return [...seconds, ...together].some(isReal) ? [] : ['a fault on our side alone was confirmed as an outage'];
};

/** The results of this round one after the other: whether at some point of it this was so. */
const atSomePoint = (scene: Scene, holds: (known: readonly Made[]) => boolean): boolean => {
  const before = scene.known.decided.slice(-600 - scene.fresh.length, scene.known.decided.length - scene.fresh.length);
  return scene.fresh.some((_, index) => holds([...before, ...scene.fresh.slice(0, index + 1)]));
};

/** Rule 12: the check with which fewer than two failed, for the last time; undefined where that was no check but time that passed. */
const fellBelowTwo = (known: readonly Made[], { places, able, interval_ms }: Scene): number | undefined => {
  const views = new Map<Continent, Made>();
  let now = 0;
  let wereTwo = false;
  let fell: number | undefined;
  for (const made of known) {
    now = Math.max(now, made.at);
    const before = views.get(made.continent);
    if (!before || made.at > before.at || (made.at === before.at && isFail(made))) views.set(made.continent, made);
    const fresh = [...views.values()].filter(
      ({ at, continent }) => places.includes(continent) && now - at <= 2 * able.length * interval_ms,
    );
    const areTwo = fresh.filter(isFail).length >= 2;
    if (areTwo) fell = undefined;
    else if (wereTwo)
      fell = made.outcome === 'ok' && views.get(made.continent) === made && before?.outcome === 'fail' ? made.at : undefined;
    wereTwo = areTwo;
  }
  return fell;
};

const endedByPasses = (incident: Incident, scene: Scene): string[] => {
  if (scene.places.length === 1) {
    const twice = atSomePoint(scene, (known) => {
      const last = known.toSorted((a, b) => a.at - b.at).slice(-2);
      return last.length === 2 && last.every(({ outcome, at }) => outcome === 'ok' && at > incident.started_at);
    });
    return twice ? [] : ['a lone continent ended an outage without two passes in a row'];
  }
  const enough = atSomePoint(scene, (known) => {
    const now = known.reduce((latest, { at }) => Math.max(latest, at), 0);
    const isView = ({ at }: Made, places: number) => now - at <= 2 * scene.interval_ms * Math.max(1, places);
    const views = newestByContinent(known, scene.places);
    const passing = views.filter((made) => made.outcome === 'ok' && isView(made, scene.places.length)).length;
    const failing = views.filter((made) => isFail(made) && isView(made, scene.able.length)).length;
    return failing <= 1 && (passing >= 2 || passing >= scene.able.length);
  });
  if (!enough) return ['an outage ended although two continents failed, or fewer than two passed'];
  // What came late was decided in another order than that in which it was seen.
  const isLate = recent(scene.known.decided, 600).some(
    ({ at, decided_at, stale }) => at >= incident.started_at && (stale || (decided_at ?? at) - at > late),
  );
  const fell = isLate ? undefined : fellBelowTwo(recent(scene.known.decided, 600), scene);
  const expected = fell === undefined ? undefined : Math.max(fell, incident.confirmed_at ?? fell);
  const isDated = expected === undefined || incident.resolved_at === expected;
  return isDated ? [] : [`it ended at ${incident.resolved_at}, although fewer than two failed since the check at ${fell}`];
};

const closed = (incident: Incident, scene: Scene): string[] => {
  const { note, seen, started_at, confirmed_at, resolved_at } = incident;
  if (note === null && confirmed_at !== null) return endedByPasses(incident, scene);
  const all = recent(scene.known.decided, 2000);
  if (note === null) {
    const passed = all.some((made) => made.outcome === 'ok' && made.continent === seen?.continent && made.at === resolved_at);
    return passed ? [] : ['a lonely failure ended without a pass of its continent'];
  }
  if (note === 'seen from one continent only') {
    const refuted = all.some((made) => made.outcome === 'ok' && made.continent !== seen?.continent && made.at > started_at);
    return refuted ? [] : ['a failure was called lonely although nobody else passed'];
  }
  if (note === 'no longer observed') {
    const last = newest(scene.known.decided, (made) => made.continent === seen?.continent);
    if (!last) return [];
    const [over, turn] = [(resolved_at ?? 0) - Math.max(last.at, started_at), scene.places.length * scene.interval_ms];
    if (over < 2 * scene.interval_ms && last.at >= started_at) return ['it was called unobserved although its continent had reported'];
    return over > 2 * turn ? [`it was called unobserved ${over} ms after its continent had reported, more than two turns`] : [];
  }
  return [];
};

/** What is wrong with this incident, given how it stood before. */
export const faultsOf = (incident: Incident, before: Incident | undefined, scene: Scene): string[] => {
  const { started_at, confirmed_at, resolved_at } = incident;
  const faults: string[] = [];
  if (confirmed_at !== null && confirmed_at < started_at) faults.push('it was confirmed before it started');
  if (resolved_at !== null && resolved_at < (confirmed_at ?? started_at)) faults.push('it was resolved before it was confirmed');
  if (!before) faults.push(...opened(incident, scene));
  if (before?.resolved_at != null) faults.push('it was written again after its end');
  if (confirmed_at !== null && (before?.confirmed_at ?? null) === null) faults.push(...confirmed(incident, scene));
  if (resolved_at !== null) faults.push(...closed(incident, scene));
  return faults.map((fault) => `monitor ${scene.monitor}, incident ${incident.id} (started ${started_at}): ${fault}`);
};
