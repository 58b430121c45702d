import { nextTick } from '../../coordinator/core/decide.ts';
import { checkpointOf, restore } from '../../coordinator/core/lifecycle.ts';
import { observedIn } from '../../coordinator/core/observations.ts';
import type { MonitorState, Watched } from '../../coordinator/core/types.ts';
import { type Alert, mayNotify, release } from '../../coordinator/notifications/policy.ts';
import { type Placed, probeOf } from '../../shared/checks/placement.ts';
import type { Agenda } from './agenda.ts';
import type { Bus, Waiting } from './bus.ts';
import type { Database, Record } from './database.ts';
import type { Listener, Network } from './network.ts';
import type { Probe } from './probe.ts';
import { createHolding, createProbeTrust, createRound, type Round } from './round.ts';
import { type MonitorSpec, noise, type Story } from './story.ts';

/**
 * Sends what is due, by the real rules: asked again before each attempt; sent, then noted as sent,
 * so that a death between sends twice.
 */
type Alerter = { readonly wake: () => void; readonly stop: () => void };

const freshly = 1_000;

const createAlerter = (parts: {
  readonly agenda: Agenda;
  readonly database: Database;
  readonly record: Record;
  readonly seed: number;
  /**
   * Whether the past of this monitor has been decided: before, nobody knows whether an outage
   * lasts.
   */
  readonly mayRelease: () => boolean;
  /** Runs later, unless its coordinator has died or hangs by then. */
  readonly later: (wait: number, act: () => void) => void;
}): Alerter => {
  const { agenda, database, record, seed, later, mayRelease } = parts;
  const sending = new Set<string>();
  let stopped = false;
  let nextWake = Number.POSITIVE_INFINITY;
  let count = 0;

  const wakeAt = (time: number) => {
    if (time >= nextWake) return;
    nextWake = time;
    later(time - agenda.now(), () => {
      if (nextWake !== time || stopped) return;
      nextWake = Number.POSITIVE_INFINITY;
      alerter.wake();
    });
  };

  const mark = (incident: string, row: Alert, state: Alert['state']) => {
    const known = database.alerts.get(incident);
    if (known)
      known.rows = known.rows.map((each) =>
        each.event === row.event && each.channel === row.channel ? { ...each, state } : each,
      );
  };

  const send = (incident: string, row: Alert) => {
    const key = `${incident}:${row.event}:${row.channel}`;
    if (sending.has(key)) return;
    sending.add(key);
    count += 1;
    const judgedAt = agenda.now();
    const confirmed_at = database.incidents.get(incident)?.incident.confirmed_at ?? null;
    later(5 + noise(seed, count, 1, 11) * 50, () => {
      const now = agenda.now();
      if (now - judgedAt > freshly) {
        // It hung in between: what was right then is asked anew.
        sending.delete(key);
        alerter.wake();
        return;
      }
      // The receiver knows a key that it had before.
      const { event, channel } = row;
      if (
        !record.delivered.some(
          (each) => each.incident === incident && each.event === event && each.channel === channel,
        )
      ) {
        record.delivered.push({ incident, event, channel, at: now, confirmed_at });
      }
      later(20, () => {
        sending.delete(key);
        mark(incident, row, 'sent');
        alerter.wake();
      });
    });
  };

  const workOn = (incident: string) => {
    const known = database.alerts.get(incident);
    if (!known) return;
    const now = agenda.now();
    for (const row of known.rows) {
      if (row.state !== 'held' && row.state !== 'due') continue;
      if (row.event === 'down') {
        if (!mayRelease()) continue;
        const answer = release(row.due_at, database.cover(known.monitor), now);
        if (answer.is === 'held') {
          if (row.state === 'due') mark(incident, row, 'held');
          wakeAt(answer.until);
        } else {
          mark(incident, row, 'due');
          send(incident, row);
        }
      } else if (row.event === 'was_down') {
        // What held it to its end drops it, as it would have then.
        const end = database.incidents.get(incident)?.incident.resolved_at ?? now;
        const answer = release(row.due_at, database.cover(known.monitor), end);
        if (answer.is === 'held') mark(incident, row, 'dropped');
        else send(incident, row);
      } else if (
        known.rows.some(
          ({ event, channel, state }) =>
            event === 'down' &&
            channel === row.channel &&
            (state === 'sent' || state === 'dropped'),
        )
      ) {
        send(incident, row);
      }
    }
    const settled = database.alerts
      .get(incident)
      ?.rows.every(({ state }) => state === 'sent' || state === 'dropped');
    if (settled) database.unsettled.delete(incident);
  };

  const alerter: Alerter = {
    wake: () => {
      if (!stopped) for (const incident of [...database.unsettled]) workOn(incident);
    },
    stop: () => {
      stopped = true;
    },
  };
  return alerter;
};

/** What a simulated coordinator can be told, and what it is made of. */
export type Coordinator = Listener & {
  readonly wake: () => void;
  readonly isWell: () => boolean;
  /** Dies when the next round comes to this step. */
  readonly dieAt: (step: number) => void;
  /** The next thing that it asks of the database is never answered. */
  readonly hangNextCall: () => void;
  readonly die: () => void;
  readonly hang: () => void;
  readonly goOn: () => void;
  readonly holdAfterReconnect: () => void;
  readonly isQuiet: () => boolean;
  readonly states: () => readonly MonitorState[];
  readonly setStates: (states: readonly MonitorState[]) => void;
  readonly alerter: Alerter;
};

type CoordinatorDependencies = {
  readonly story: Story;
  readonly agenda: Agenda;
  readonly bus: Bus;
  readonly database: Database;
  readonly network: Network;
  readonly probes: readonly Probe[];
  readonly record: Record;
  readonly owner: number;
  readonly isBusAway: () => boolean;
  /** What its clock says, which can be wrong. */
  readonly clock: () => number;
  readonly isRefused: () => boolean;
  readonly onDeath: () => void;
  /** It could not go on, and another is to begin. */
  readonly onGivenUp: () => void;
  readonly onCommit: (round: Round) => void;
  readonly assigned: (monitor: number) => void;
};

export const watchedOf = (
  story: Story,
  { id, interval_ms, timeout_ms, continents, alert_after_ms, sampled }: MonitorSpec,
): Watched => ({
  id,
  organisation: 'organisation',
  kind: 'https',
  interval_ms,
  timeout_ms,
  continents,
  probe: null,
  config_version: 1,
  alert_after_ms,
  sampled,
  created_at: story.start,
  paused_at: null,
});

export const placedOf = (
  ordinal: number,
  { id, interval_ms, continents, probe }: Watched,
): Placed => ({
  monitor: id,
  interval_ms,
  ordinal,
  continents,
  probe,
});

const [maxInRound, maxHeld, ackWait] = [20, 200, 5_000];
const tickStep = 100;
const checkpointEvery = 60_000;
const startsAnewAfter = 1_000;
/** A partition whose message takes longer is given up. */
const standsAtMost = 30_000;

/**
 * A simulated coordinator: one partition, the real core, one round at a time in four steps (taken,
 * decided, committed, told), between any two of which it can die or hang. Modes: holding (what was
 * kept arrives; rule 4) → working; hanging; dead.
 */
export const createCoordinator = (dependencies: CoordinatorDependencies): Coordinator => {
  const { story, agenda, bus, database, network, probes, record, owner, clock } = dependencies;
  const epoch = database.takeOver();
  let life: 'well' | 'hanging' | 'dead' = 'well';
  let deathStep: number | null = null;
  let neverAnswered = false;
  let busy = false;
  let delayed: (() => void)[] = [];
  let states: MonitorState[] = database.watched.map((watched, monitor) => {
    const { checkpoint, since } = database.checkpoint(monitor);
    const pause = database.ledger(monitor, 'paused').at(-1);
    const paused_at = pause?.ended_at === null ? pause.began_at : null;
    const restored = { ...watched, paused_at };
    const incident = database.openIncident(monitor);
    const within = incident && observedIn(incident, restored, network.roster());
    return restore({
      watched: restored,
      checkpoint,
      results: since,
      resumed_at: pause?.ended_at ?? null,
      told: since.filter(({ at }) => within && at >= within.from && at <= within.to),
      incident,
      last_down: database.lastDown(monitor),
      gaps: database.gaps(monitor),
    });
  });
  const holding = createHolding({ story, agenda, database, network });
  let tickAt = Number.POSITIVE_INFINITY;
  let checkpointAt = agenda.now() + noise(story.seed, owner, 1, 12) * checkpointEvery;
  let rounds = 0;
  let caughtUp = false;
  /** Whether the database has taken something of ours since we last hung. */
  let isProved = true;
  const trust = createProbeTrust({ story, agenda, database, network });
  bus.giveBack(null);

  const later = (wait: number, act: () => void) => {
    agenda.at(agenda.now() + wait, () => {
      if (life === 'hanging') delayed.push(act);
      else if (life === 'well') act();
    });
  };

  const die = () => {
    if (life === 'dead') return;
    life = 'dead';
    agenda.at(agenda.now() + ackWait, () => bus.giveBack(owner));
    alerter.stop();
    dependencies.onDeath();
  };
  const diesAt = (step: number): boolean => {
    if (deathStep !== step) return false;
    die();
    return true;
  };

  const alerter = createAlerter({
    agenda,
    database,
    record,
    seed: story.seed + owner,
    later,
    mayRelease: () => isProved && mayNotify({ isPastDecided: caughtUp, isSaidByTarget: false }),
  });

  const tell = (round: Round) => {
    for (const { probe, generation, committed, again } of round.receipts) {
      const to = probes[probe];
      if (to) bus.say(probe, () => to.receive({ generation, committed, again }));
    }
    for (const { monitor, look: recheck, places } of round.looks) {
      const watched = states[monitor]?.watched;
      if (!watched) continue;
      for (const place of places) {
        const chosen = probeOf(placedOf(monitor, watched), place, network.roster());
        const to = probes.find(({ spec }) => spec.id === chosen?.id);
        if (to) bus.say(to.spec.index, () => to.look(monitor, watched.config_version, recheck));
      }
    }
    for (const monitor of round.reassigned) dependencies.assigned(monitor);
  };

  const scheduleTick = () => {
    const due = states.reduce(
      (least, state) =>
        Math.min(least, nextTick(state, network.roster()) ?? Number.POSITIVE_INFINITY),
      Number.POSITIVE_INFINITY,
    );
    const time = agenda.now() + Math.max(due - clock(), tickStep);
    if (!Number.isFinite(time) || time >= tickAt) return;
    tickAt = time;
    agenda.at(
      time,
      () => {
        if (tickAt !== time) return;
        tickAt = Number.POSITIVE_INFINITY;
        if (life === 'well') wake();
      },
      true,
    );
  };

  const giveUp = (after: number) => {
    life = 'dead';
    alerter.stop();
    agenda.at(agenda.now() + after, () => {
      bus.giveBack(owner);
      dependencies.onDeath();
      dependencies.onGivenUp();
    });
  };

  /** It was made, and nobody was told so. */
  const writeUnheard = (
    round: Round,
    checkpoints: Parameters<Database['commit']>[0]['checkpoints'],
  ) => {
    if (database.commit({ ...round.unit(epoch), checkpoints })) dependencies.onCommit(round);
  };

  const commit = (round: Round, taken: readonly Waiting[]) => {
    if (diesAt(1)) return;
    // What is checked changed: the views of before must not come back with an older checkpoint.
    const withCheckpoint = agenda.now() >= checkpointAt || round.changesMonitors();
    if (withCheckpoint) checkpointAt = agenda.now() + checkpointEvery;
    const checkpoints = withCheckpoint
      ? new Map(round.states.map((state, monitor) => [monitor, checkpointOf(state)]))
      : null;
    if (dependencies.isRefused()) {
      // Whoever could not write begins anew from what is written.
      giveUp(startsAnewAfter);
      return;
    }
    if (neverAnswered) {
      if (noise(story.seed, owner, rounds, 14) < 0.5) writeUnheard(round, checkpoints);
      giveUp(standsAtMost);
      return;
    }
    if (!database.commit({ ...round.unit(epoch), checkpoints })) {
      record.fenced += 1;
      die();
      return;
    }
    isProved = true;
    states = [...round.states];
    dependencies.onCommit(round);
    if (diesAt(2)) return;
    trust.judge(round, states);
    later(1, () => {
      bus.ack(taken);
      if (diesAt(3)) return;
      tell(round);
      alerter.wake();
      busy = false;
      wake();
    });
  };

  const work = (fill: (round: Round) => void, taken: readonly Waiting[]) => {
    busy = true;
    rounds += 1;
    if (diesAt(0)) return;
    const round = createRound({
      story,
      database,
      states,
      now: clock(),
      network: network.roster(),
      name: `${owner}.${rounds}`,
    });
    fill(round);
    later(3 + noise(story.seed, owner, rounds, 13) * 25, () => commit(round, taken));
  };

  /** Nothing open, and no stretch without a result, noticed or not. */
  const isAtEase = ({ watched, incident, gaps, covered_until }: MonitorState): boolean =>
    incident === null &&
    gaps.at(-1)?.to !== null &&
    (watched.paused_at !== null || covered_until > clock());

  const isDue = (state: MonitorState): boolean =>
    (nextTick(state, network.roster()) ?? Number.POSITIVE_INFINITY) <= clock();

  /** Whatever there is to do, one round at a time. */
  const wake = () => {
    if (life !== 'well' || busy) return;
    if (database.outboxDone < database.outbox.length) {
      work((round) => round.drain(), []);
      return;
    }
    if (dependencies.isBusAway()) return;
    if (!holding.isHolding()) {
      const taken = bus.take(owner, caughtUp ? maxInRound : maxHeld);
      if (holding.waitsForOthers(taken)) {
        caughtUp = false;
        later(500, wake);
        bus.giveBack(owner);
        return;
      }
      if (taken.length > 0) {
        work((round) => round.receive(taken.map(({ batch }) => batch)), taken);
        return;
      }
      if (!caughtUp) {
        caughtUp = true;
        alerter.wake();
      }
      if (states.some(isDue)) {
        work((round) => round.tick(isDue), []);
        return;
      }
    } else {
      later(500, wake);
    }
    scheduleTick();
  };

  later(1, wake);
  alerter.wake();
  network.beginListening();
  return {
    wake,
    alerter,
    isWell: () => life === 'well',
    dieAt: (step) => {
      deathStep = step;
    },
    hangNextCall: () => {
      neverAnswered = true;
    },
    die,
    hang: () => {
      if (life === 'well') life = 'hanging';
    },
    goOn: () => {
      if (life !== 'hanging') return;
      life = 'well';
      // It may be another's work by now: nothing is told before the database has taken something of
      // ours.
      isProved = false;
      const acts = delayed;
      delayed = [];
      for (const act of acts) later(0, act);
      later(1, wake);
    },
    holdAfterReconnect: () => {
      caughtUp = false;
      holding.begin(agenda.now());
    },
    present: holding.present,
    isQuiet: () =>
      life === 'well' &&
      !busy &&
      !holding.isHolding() &&
      database.unsettled.size === 0 &&
      states.every(isAtEase),
    states: () => states,
    setStates: (next) => {
      states = [...next];
      tickAt = Number.POSITIVE_INFINITY;
      checkpointAt = Math.max(checkpointAt, agenda.now());
      scheduleTick();
    },
  };
};
