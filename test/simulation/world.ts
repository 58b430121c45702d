import { allowedSilence } from '../../coordinator/core/ledger.ts';
import { checkpointOf } from '../../coordinator/core/lifecycle.ts';
import type { MonitorState, ProbeView } from '../../coordinator/core/types.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { placesOf, probeOf } from '../../shared/checks/placement.ts';
import { type Agenda, createAgenda } from './agenda.ts';
import { createBus } from './bus.ts';
import { type Coordinator, createCoordinator, placedOf, watchedOf } from './coordinator.ts';
import { createDatabase, createRecord, type Database, type Record } from './database.ts';
import { createNetwork } from './network.ts';
import { createOracle } from './oracle.ts';
import { createProbe, type Probe } from './probe.ts';
import type { Story } from './story.ts';
import { createTruth, happeningsOf, type Truth } from './truth.ts';

/**
 * A calm time is jumped over: while every check passes and nothing is open, the state after it is
 * the state before it with the last turn of each continent in it. A test holds this against
 * deciding every single result.
 */
export const afterCalm = (
  monitor: number,
  state: MonitorState,
  network: Roster,
  lastTurn: (probe: string, monitor: number) => number | undefined,
): MonitorState => {
  if (state.watched.paused_at !== null) return state;
  const placed = placedOf(monitor, state.watched);
  const fresh = placesOf(placed, network).flatMap((place): ProbeView[] => {
    const probe = probeOf(placed, place, network);
    const at = probe && lastTurn(probe.id, monitor);
    if (!probe || at === undefined || at <= state.clock) return [];
    return [
      {
        from: { probe: probe.id, name: probe.name, continent: probe.continent },
        at,
        ok: true,
        ok_at: at,
        failing_since: null,
        failure: null,
      },
    ];
  });
  if (fresh.length === 0) return state;
  const others = state.views.filter(
    ({ from }) => !fresh.some((view) => view.from.probe === from.probe),
  );
  const clock = Math.max(state.clock, ...fresh.map(({ at }) => at));
  return {
    ...state,
    views: [...others, ...fresh],
    clock,
    covered_until: Math.max(state.covered_until, clock + allowedSilence(state.watched)),
  };
};

/** How much of ordinary life is lived before trouble begins again. */
const leadIn = (story: Story): number =>
  Math.max(...story.monitors.map(({ interval_ms }) => interval_ms)) + 60_000;

const probeById = (probes: readonly Probe[], id: string): Probe | undefined =>
  probes.find(({ spec }) => spec.id === id);

/**
 * What people do to their monitors and windows: rows and an outbox line in one transaction, then
 * the coordinator is woken.
 */
const scheduleOperations = (parts: {
  readonly story: Story;
  readonly truth: Truth;
  readonly agenda: Agenda;
  readonly database: Database;
  readonly wake: () => void;
  readonly wakeAlerter: () => void;
}): void => {
  const { story, truth, agenda, database, wake, wakeAlerter } = parts;

  for (const { monitor, at } of happeningsOf(story, 'edited'))
    agenda.at(at, () => {
      const before = database.watched[monitor];
      if (!before) return;
      const watched = { ...before, config_version: before.config_version + 1 };
      database.watched[monitor] = watched;
      database.outbox.push({ monitor, event: { is: 'edited', at, watched, changed: true } });
      wake();
    });

  const settlePause = (monitor: number) => {
    const before = database.watched[monitor];
    const at = agenda.now();
    const paused = truth.isPaused(monitor, at);
    if (!before || paused === (before.paused_at !== null)) return;
    database.watched[monitor] = { ...before, paused_at: paused ? at : null };
    database.outbox.push({ monitor, event: { is: paused ? 'paused' : 'resumed', at } });
    wake();
  };
  for (const { monitor, at, until } of happeningsOf(story, 'paused'))
    for (const time of [at, until]) agenda.at(time, () => settlePause(monitor));

  for (const { at, until, monitor, group, made, deleted } of happeningsOf(story, 'window')) {
    agenda.at(made, () => {
      const index = database.windows.length;
      const groups = group === null ? [] : [group];
      database.windows.push({
        created_at: made,
        deleted_at: null,
        occurrences: [{ from: at, to: until }],
        direct: false,
        groups,
        monitor,
      });
      if (deleted === null) return;
      agenda.at(deleted, () => {
        const known = database.windows[index];
        if (known) database.windows[index] = { ...known, deleted_at: deleted };
        wakeAlerter();
      });
    });
  }

  for (const { monitor, group, at } of happeningsOf(story, 'moved'))
    agenda.at(at, () => {
      for (const each of database.memberships)
        if (each.monitor === monitor && each.to === null) each.to = at;
      if (group !== null) database.memberships.push({ monitor, group, from: at, to: null });
      wakeAlerter();
    });
};

/** Lives a story from its start to its end, and says what was wrong with it. */
export type Lived = { readonly record: Record; readonly database: Database };

/** Each probe speaks every five seconds, not all in the same moment. */
const presenceEvery = 1_000;
const presenceTurns = 5;
const auditEvery = 20_000;
const leaseLasts = 8_000;
const shortestJump = 15 * 60_000;
/** Many times what the busiest story takes. */
const maxSteps = 1_000_000;

export const live = (story: Story): Lived => {
  const agenda = createAgenda(story.start);
  const truth = createTruth(story);
  const record = createRecord(story.monitors.length);
  const bus = createBus(story.seed, agenda, truth);
  const watched = story.monitors.map((monitor) => watchedOf(story, monitor));
  const database = createDatabase(
    watched,
    story.monitors.map(({ channels }) => channels),
  );
  const probes = story.probes.map(
    (spec): Probe => createProbe(spec, { story, agenda, truth, bus, record }),
  );
  const network = createNetwork(story, agenda, bus, database, probes);
  const oracle = createOracle({ story, truth, record, database, network, agenda });
  const lead = leadIn(story);
  let owner = 0;
  let current: Coordinator | null = null;

  const assign = (probe: Probe, monitor: number) => {
    const row = database.watched[monitor];
    if (!row || probe.holds(monitor, row.paused_at === null ? row.config_version : null)) return;
    probe.assign(
      monitor,
      row.paused_at === null ? placedOf(monitor, row) : null,
      row.config_version,
    );
  };

  const startCoordinator = () => {
    owner += 1;
    record.restarts += 1;
    oracle.onStart();
    const mine = owner;
    const made = createCoordinator({
      story,
      agenda,
      bus,
      database,
      network,
      probes,
      record,
      owner,
      isBusAway: () => truth.isBusAway(agenda.now()),
      clock: () => agenda.now() + truth.ahead(agenda.now()),
      isRefused: () => truth.isRefusing(agenda.now()),
      onGivenUp: () => current ?? startCoordinator(),
      onDeath: () => {
        if (mine === owner) current = null;
      },
      onCommit: oracle.onCommit,
      assigned: (monitor) => {
        for (const probe of probes)
          bus.say(probe.spec.index, () => probe.isConnected() && assign(probe, monitor));
      },
    });
    current = made;
  };

  bus.onLanded = () => current?.wake();

  const presence = () => {
    const heard = current?.isWell() && !truth.isBusAway(agenda.now()) ? current : null;
    const turn = Math.floor(agenda.now() / presenceEvery) % presenceTurns;
    network.round(heard, (probe) => probe % presenceTurns === turn);
    // What was published while a probe was away waits for it.
    if (heard && turn === 0)
      for (const probe of probes)
        if (probe.isConnected())
          for (const monitor of story.monitors.keys()) assign(probe, monitor);
    agenda.at(agenda.now() + presenceEvery, presence, true);
  };

  const isCalm = (): boolean =>
    current?.isQuiet() === true &&
    bus.isEmpty() &&
    network.isWhole() &&
    database.outboxDone === database.outbox.length &&
    probes.every((probe) => probe.isIdle() && probe.isConnected());

  const jumpTo = (time: number) => {
    const before = current?.states() ?? [];
    const after = before.map((state, monitor) =>
      afterCalm(monitor, state, network.roster(), (probe) =>
        probeById(probes, probe)?.lastTurn(monitor, time - 2_000),
      ),
    );
    const jumpedFrom = agenda.now();
    agenda.jump(time);
    record.jumps += 1;
    for (const [monitor, state] of after.entries()) {
      if (state.clock === before[monitor]?.clock) continue;
      record.calm[monitor]?.push({
        from: jumpedFrom,
        last: state.clock,
        to: state.clock + allowedSilence(state.watched),
      });
      database.keep(monitor, checkpointOf(state));
    }
    network.resume();
    current?.setStates(after);
    for (const probe of probes) probe.resume();
    agenda.at(time, presence, true);
  };

  const turningPoints = story.happenings
    .flatMap((each) => [
      each.at,
      each.until,
      ...(each.is === 'window' ? [each.made, each.deleted ?? each.made] : []),
    ])
    .toSorted((a, b) => a - b);
  let hushedSince: number | null = null;
  let busyUntil = 0;

  /**
   * Calm ahead: turns are held back until all that is under way has come to rest, then the time is
   * jumped over; or things go on as before.
   */
  const tryToJump = () => {
    const now = agenda.now();
    const next = Math.min(turningPoints.find((time) => time > now) ?? story.end, story.end);
    const isBefallen = story.happenings.some(({ at, until }) => at <= now && now < until);
    const isTempting =
      !isBefallen &&
      now >= busyUntil &&
      next - lead - now >= shortestJump &&
      current?.isQuiet() === true &&
      network.isWhole();
    if (hushedSince === null) {
      if (!isTempting) return;
      hushedSince = now;
      for (const probe of probes) probe.hush();
      return;
    }
    const until = Math.min(agenda.nextUnusual(), next) - lead;
    const mayJump = isTempting && until - now > shortestJump && isCalm();
    if (!mayJump && isTempting && now - hushedSince < 12_000) return;
    hushedSince = null;
    if (mayJump) jumpTo(until);
    else {
      busyUntil = now + 10 * 60_000;
      for (const probe of probes) probe.resume();
    }
  };

  const audit = () => {
    oracle.audit(current?.isWell() === true);
    tryToJump();
    agenda.at(agenda.now() + (hushedSince === null ? auditEvery : 500), audit, true);
  };

  for (const { at, until, step } of happeningsOf(story, 'coordinator killed')) {
    agenda.at(at, () => current?.dieAt(step));
    agenda.at(until, () => current?.die());
    agenda.at(until + 2_000, () => current ?? startCoordinator());
  }
  for (const { at, until } of happeningsOf(story, 'coordinator frozen')) {
    agenda.at(at, () => {
      const stale = current;
      stale?.hang();
      agenda.at(until, () => stale?.goOn());
      if (until > at + leaseLasts)
        agenda.at(at + leaseLasts, () => (current === stale ? startCoordinator() : undefined));
    });
  }
  for (const { at, until } of happeningsOf(story, 'clock ahead'))
    for (const time of [at, until]) agenda.at(time, () => current?.wake());
  for (const { at } of happeningsOf(story, 'call hangs'))
    agenda.at(at, () => current?.hangNextCall());
  for (const { until } of happeningsOf(story, 'bus away'))
    agenda.at(until, () => {
      network.beginListening();
      current?.holdAfterReconnect();
      current?.wake();
    });
  for (const { at } of happeningsOf(story, 'bus wiped')) agenda.at(at, bus.wipe);
  for (const { at, until, probe, keepsSpool } of happeningsOf(story, 'probe dead')) {
    agenda.at(at, () => probes[probe]?.die(keepsSpool));
    agenda.at(until, () => (truth.isDead(probe, agenda.now()) ? undefined : probes[probe]?.rise()));
  }
  scheduleOperations({
    story,
    truth,
    agenda,
    database,
    wake: () => current?.wake(),
    wakeAlerter: () => current?.alerter.wake(),
  });

  startCoordinator();
  for (const probe of probes) {
    probe.hear(network.roster());
    for (const monitor of story.monitors.keys()) assign(probe, monitor);
  }
  agenda.at(story.start, presence, true);
  agenda.at(story.start + auditEvery, audit, true);
  let steps = 0;
  while (agenda.now() < story.end && record.violations.length === 0 && agenda.step()) {
    steps += 1;
    if (steps > maxSteps)
      record.violations.push(`it does not come to rest: ${steps} steps by ${agenda.now()}`);
  }
  record.messages = bus.messages();
  if (record.violations.length === 0) oracle.atTheEnd(story.end);
  return { record, database };
};
