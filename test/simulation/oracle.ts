import type { Incident } from '../../coordinator/core/types.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { Agenda } from './agenda.ts';
import type { Database, Made, Record } from './database.ts';
import type { Network } from './network.ts';
import {
  createQuarantineOracle,
  createQuestionsOracle,
  faultsOfAlerts,
  faultsOfBelief,
  faultsOfPast,
  type Verifying,
} from './oracle-alerts.ts';
import { faultsOf, faultsOfDates, faultsOfDecision } from './oracle-incidents.ts';
import {
  forgetAhead,
  type Known,
  newest,
  newestByContinent,
  saysSomething,
} from './oracle-known.ts';
import { faultsOfOutages, faultsOfUptime } from './oracle-outages.ts';
import { type Outages, regionalIn } from './oracle-regional.ts';
import type { Round } from './round.ts';
import type { Story } from './story.ts';
import type { Truth } from './truth.ts';

/**
 * The oracle: knows what really was, and by the rules alone what must come of it. It watches every
 * commit, looks around now and then, and sums up at the end.
 */
type Oracle = {
  /** A coordinator begins. */
  readonly onStart: () => void;
  readonly onCommit: (round: Round) => void;
  readonly audit: (coordinatorIsWell: boolean) => void;
  readonly atTheEnd: (end: number) => void;
};

type Dependencies = {
  readonly story: Story;
  readonly truth: Truth;
  readonly record: Record;
  readonly database: Database;
  readonly network: Network;
  readonly agenda: Agenda;
};

const decidingOf = ({ regional }: Known, places: readonly Continent[]): readonly Continent[] =>
  places.filter((place) => !regional.includes(place));

/** What an ordinary decision may take. */
const soon = 10_000;
const settled = 60_000;

export const createOracle = ({
  story,
  truth,
  record,
  database,
  network,
  agenda,
}: Dependencies): Oracle => {
  const known: Known[] = story.monitors.map(() => ({
    version: 1,
    decided: [],
    since: story.start,
    isPaused: false,
    all: [],
    regional: [],
    regionalBefore: [],
    regionalMeanwhile: [],
    aside: [],
    distrustedAt: Number.NEGATIVE_INFINITY,
    regionalInOutage: [],
    lastDown: null,
  }));
  const askedAt = story.monitors.map(() => Number.NEGATIVE_INFINITY);
  const quarantine = createQuarantineOracle(database);
  const questions = createQuestionsOracle();
  const incidents = new Map<string, Incident>();
  const open = story.monitors.map(() => new Set<string>());
  const never = { at: Number.NEGATIVE_INFINITY, decided_at: Number.NEGATIVE_INFINITY };
  const over = story.monitors.map(() => never);
  const confirmed = new Map<string, number>();
  const all = [...new Set(story.probes.map(({ continent }) => continent))];
  const places = story.monitors.map(({ continents }) =>
    all.filter((place) => continents === null || continents.includes(place)),
  );
  let drained = 0;
  let wellSince = Number.POSITIVE_INFINITY;
  let startedAt = story.start;
  let clock = story.start;

  const ableOf = (monitor: number, roster: Roster) =>
    (places[monitor] ?? []).filter((place) =>
      roster.probes.some(
        ({ continent, healthy, quarantined }) => continent === place && healthy && !quarantined,
      ),
    );

  const learn = (round: Round): Map<number, (typeof record.made)[number]> => {
    const fresh = new Map<number, (typeof record.made)[number]>();
    for (const about of known) {
      about.regionalBefore = about.regional;
      about.regionalMeanwhile = about.regional;
    }
    for (const { made } of round.results) {
      made.decided_at = round.decidedAt;
      const about = known[made.monitor];
      if (!about || !saysSomething(made) || made.version !== about.version || made.at < about.since)
        continue;
      made.stale =
        newest(about.all, ({ probe, at }) => probe === made.probe && at >= made.at) !== undefined;
      if (leaveOut(about, made, round.network)) continue;
      about.decided.push(made);
      const list = fresh.get(made.monitor) ?? [];
      list.push(made);
      fresh.set(made.monitor, list);
    }
    return fresh;
  };

  /** In a calm time that was jumped over all passed. */
  const calmOf = (monitor: number): number =>
    record.calm[monitor]?.at(-1)?.last ?? Number.NEGATIVE_INFINITY;

  const regionalOf = (about: Known, monitor: number, roster: Roster, open: Outages['open']) => {
    const able = ableOf(monitor, roster);
    const turn_ms = Math.max(1, able.length) * (story.monitors[monitor]?.interval_ms ?? 0);
    const watching = { able, turn_ms, calm: calmOf(monitor) };
    return regionalIn(about.all, places[monitor] ?? [], { open, last: about.lastDown }, watching);
  };

  /** Rule 45: what a regional place sees decides nothing, as long as it fails. */
  const leaveOut = (about: Known, made: Made, roster: Roster): boolean => {
    const open = openOf(made.monitor);
    const calm = calmOf(made.monitor);
    about.all = about.all.filter(({ at }) => at >= calm);
    about.regional = regionalOf(
      about,
      made.monitor,
      roster,
      open && open.confirmed_at !== null
        ? { since: open.started_at, regional: about.regionalInOutage }
        : null,
    );
    about.regionalMeanwhile = [...about.regionalMeanwhile, ...about.regional];
    about.all.push(made);
    if (about.all.length > 500) about.all.splice(0, 100);
    if (about.regional.length === 0 && about.aside.length === 0) return false;
    const passed = (place: Continent) =>
      newest(about.all, ({ continent, outcome }) => continent === place && outcome === 'ok')?.at;
    const isAside = ({ continent, outcome, at }: Made) =>
      outcome !== 'ok' && about.regional.includes(continent) && at >= (passed(continent) ?? 0);
    // What comes late may show that others failed with it all the while.
    const back = about.aside.filter(
      (one) => !about.regional.includes(one.continent) && one.at > (passed(one.continent) ?? 0),
    );
    about.aside = [...about.aside, ...about.decided].filter(isAside);
    about.decided = [...about.decided, ...back].filter((one) => !isAside(one));
    if (!about.regional.includes(made.continent)) return false;
    made.stale = true;
    if (made.outcome !== 'fail') return false;
    about.aside = [...about.aside, made];
    return true;
  };

  const followOperations = () => {
    for (const { monitor, event } of database.outbox.slice(drained, database.outboxDone)) {
      const about = known[monitor];
      if (!about) continue;
      if (event.is === 'quarantined') {
        // What it saw counts for nothing any more.
        const sick = story.probes.findIndex(({ id }) => id === event.probe);
        about.decided = about.decided.filter(({ probe }) => probe !== sick);
        about.all = about.all.filter(({ probe }) => probe !== sick);
        about.aside = about.aside.filter(({ probe }) => probe !== sick);
        about.distrustedAt = event.at;
      }
      if (event.is === 'paused' || event.is === 'resumed') about.isPaused = event.is === 'paused';
      if (event.is === 'edited') about.version = event.watched.config_version;
      if (event.is !== 'edited' && event.is !== 'resumed') continue;
      about.decided = [];
      about.all = [];
      about.aside = [];
      about.regional = [];
      about.since = event.at;
    }
    drained = database.outboxDone;
  };

  const openOf = (monitor: number): Incident | undefined =>
    [...(open[monitor] ?? [])].map((id) => incidents.get(id)).at(0);

  const verifying = (): Verifying[] =>
    story.monitors.flatMap(({ interval_ms }, monitor) => {
      const [incident, about] = [openOf(monitor), known[monitor]];
      if (!incident || incident.confirmed_at !== null || incident.seen === null || !about)
        return [];
      const able = ableOf(monitor, network.roster());
      const areOthers = able.some((place) => place !== incident.seen?.continent);
      return [
        {
          incident,
          monitor,
          known: about,
          askedAt: askedAt[monitor] ?? 0,
          turn_ms: able.length * interval_ms,
          areOthers,
        },
      ];
    });

  /**
   * Rule 1: what was known from beyond the present time of a clock that was set back is forgotten.
   */
  const followClock = ({ decidedAt }: Round) => {
    if (decidedAt < clock) {
      for (const about of known) {
        about.decided = forgetAhead(about.decided, decidedAt);
        about.all = forgetAhead(about.all, decidedAt);
        about.aside = forgetAhead(about.aside, decidedAt);
      }
      for (const [monitor, at] of askedAt.entries()) askedAt[monitor] = Math.min(at, decidedAt);
    }
    clock = decidedAt;
  };

  const onCommit = (round: Round) => {
    followClock(round);
    const fresh = learn(round);
    record.violations.push(...quarantine.onCommit(round));
    const openBefore = story.monitors.map((_, monitor) => openOf(monitor));
    for (const { monitor, effect } of round.effects)
      if (effect.is === 'look' && effect.why !== 'sample') askedAt[monitor] = round.decidedAt;
    for (const { monitor, effect } of round.effects) {
      if (effect.is !== 'incident') continue;
      const { incident } = effect;
      const about = known[monitor];
      const spec = story.monitors[monitor];
      if (!about || !spec) continue;
      const scene = {
        monitor,
        known: about,
        places: decidingOf(about, places[monitor] ?? []),
        able: decidingOf(about, ableOf(monitor, network.roster())),
        interval_ms: spec.interval_ms,
        fresh: fresh.get(monitor) ?? [],
        wasOpen: openBefore[monitor] !== undefined,
        leftOut: [...about.regionalMeanwhile, ...regionalOf(about, monitor, round.network, null)],
        begun: round.effects.flatMap((each) =>
          each.monitor === monitor &&
          each.effect.is === 'incident' &&
          each.effect.incident !== incident
            ? [each.effect.incident.started_at]
            : [],
        ),
        truth,
      };
      const before = incidents.get(incident.id);
      record.violations.push(...faultsOf(incident, before, scene));
      if (incident.confirmed_at !== null && (before?.confirmed_at ?? null) === null) {
        confirmed.set(incident.id, round.decidedAt);
        about.regionalInOutage = about.regional;
      }
      incidents.set(incident.id, incident);
      if (incident.resolved_at === null) open[monitor]?.add(incident.id);
      else {
        open[monitor]?.delete(incident.id);
        if (incident.confirmed_at !== null && incident.resolved_at >= (about.lastDown?.to ?? 0))
          about.lastDown = { from: incident.started_at, to: incident.resolved_at };
        over[monitor] = {
          at: Math.max(over[monitor]?.at ?? 0, incident.resolved_at),
          decided_at: round.decidedAt,
        };
      }
      if ((open[monitor]?.size ?? 0) > 1)
        record.violations.push(`monitor ${monitor} has two open incidents at ${round.decidedAt}`);
    }
    for (const monitor of fresh.keys()) {
      const turn_ms =
        Math.max(1, ableOf(monitor, round.network).length) *
        (story.monitors[monitor]?.interval_ms ?? 0);
      for (const id of open[monitor] ?? []) {
        const incident = incidents.get(id);
        const decided = known[monitor]?.decided ?? [];
        if (incident)
          record.violations.push(
            ...faultsOfDates({ incident, decided, turn_ms, over: over[monitor] ?? never }),
          );
      }
    }
    for (const [monitor, spec] of story.monitors.entries()) {
      const about = known[monitor];
      const [before, after] = [openBefore[monitor], openOf(monitor)];
      if (!about || (!before && !after)) continue;
      const here = decidingOf(about, places[monitor] ?? []);
      const able = decidingOf(about, ableOf(monitor, round.network));
      const decided = {
        monitor,
        known: about,
        places: here,
        able,
        interval_ms: spec.interval_ms,
        fresh: fresh.get(monitor) ?? [],
        over: over[monitor] ?? never,
        truth,
      };
      record.violations.push(
        ...faultsOfDecision({ ...decided, before, after, askedAt: askedAt[monitor] ?? 0 }, round),
      );
    }
    followOperations();
  };

  /** What must not stay as it is while everything works. */
  const faultsOfStanding = (monitor: number, incident: Incident): string[] => {
    const now = agenda.now();
    const about = known[monitor];
    const spec = story.monitors[monitor];
    if (!about || !spec) return [];
    const row = database.watched[monitor];
    if (row?.paused_at != null && now - row.paused_at > soon)
      return ['it is open although the monitor is paused'];
    const longAgo = about.decided.filter(
      ({ decided_at }) => decided_at !== null && decided_at < now - soon,
    );
    const here = places[monitor] ?? [];
    if (incident.confirmed_at === null) {
      const last = newest(about.decided, ({ continent }) => continent === incident.seen?.continent);
      const early = newest(longAgo, ({ continent }) => continent === incident.seen?.continent);
      // Older is what is left of a continent whose probe has just been quarantined.
      const passes = early?.outcome === 'ok' && early.at >= incident.started_at;
      if (passes && early === last)
        return ['it is unconfirmed and open although its continent passes'];
      const turn = here.length * spec.interval_ms;
      const lapsed = Math.max(last?.at ?? 0, incident.started_at) + 2 * turn;
      if (now > Math.max(lapsed, last?.decided_at ?? 0) + settled)
        return ['it is unconfirmed and open although nobody observes it any more'];
      return [];
    }
    const views = newestByContinent(about.decided, here);
    const allPass =
      views.length === here.length &&
      views.every(
        ({ outcome, at, decided_at }) =>
          outcome === 'ok' &&
          at > incident.started_at &&
          decided_at !== null &&
          decided_at < now - soon,
      );
    if (here.length > 1 && allPass) return ['it is open although every continent passes'];
    return [];
  };

  return {
    onStart: () => {
      startedAt = agenda.now();
      questions.onStart(startedAt, verifying());
    },
    onCommit,
    audit: (coordinatorIsWell) => {
      const now = agenda.now();
      const rough = truth.isBusAway(now) || truth.roughness(now) !== undefined;
      if (!coordinatorIsWell || rough || !network.isWhole()) record.unwell.push(now);
      if (!coordinatorIsWell || rough) wellSince = Number.POSITIVE_INFINITY;
      else wellSince = Math.min(wellSince, now);
      if (now - wellSince < settled) return;
      record.violations.push(
        ...(now - startedAt < settled ? [] : questions.settled(verifying())),
        ...faultsOfBelief({
          story,
          database,
          known,
          since: startedAt,
          now,
          ableOf: (monitor) => ableOf(monitor, network.roster()),
        }),
      );
      for (const [monitor, ids] of open.entries()) {
        for (const id of ids) {
          const incident = incidents.get(id);
          if (incident)
            record.violations.push(
              ...faultsOfStanding(monitor, incident).map(
                (fault) => `monitor ${monitor}, incident ${id}, at ${now}: ${fault}`,
              ),
            );
        }
      }
    },
    atTheEnd: (end) => {
      for (const list of record.made) {
        for (const { monitor, probe, order, started, counted, lost } of list) {
          if (counted > 1)
            record.violations.push(
              `check ${order} of probe ${probe} on monitor ${monitor} was counted ${counted} times`,
            );
          if (counted === 0 && !lost && started < end - settled)
            record.violations.push(
              `check ${order} of probe ${probe} on monitor ${monitor} was lost`,
            );
        }
      }
      record.violations.push(
        ...faultsOfUptime(story, truth, record, database, end),
        ...faultsOfAlerts(story, truth, record, database),
        ...faultsOfPast(story, truth, record, database),
      );
      record.violations.push(...faultsOfOutages({ story, truth, record, database, confirmed }));
    },
  };
};
