import { createWheel } from '../../probe/schedule/wheel.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { nextTurn, type Placed, shareOf, type Turns } from '../../shared/checks/placement.ts';
import type { Outcome } from '../../shared/checks/result.ts';
import type { Agenda } from './agenda.ts';
import type { Bus, Entry } from './bus.ts';
import type { Made, Record } from './database.ts';
import { noise, type ProbeSpec, type Story } from './story.ts';
import type { Truth } from './truth.ts';

/**
 * A simulated probe: real placement and turns (in some stories the real wheel), a spool that
 * survives its death or does not, and a bus that it hands over to. Modes: alive ↔ dead; alive:
 * connected ↔ cut off, asked of the truth at every step.
 */
export type Probe = {
  readonly spec: ProbeSpec;
  readonly hear: (roster: Roster) => void;
  readonly rosterEpoch: () => number;
  readonly assign: (monitor: number, placed: Placed | null, version: number) => void;
  /** Whether it holds the monitor in this version; null: whether it does not hold it. */
  readonly holds: (monitor: number, version: number | null) => boolean;
  readonly look: (monitor: number, version: number, recheck: string) => void;
  readonly receive: (receipt: {
    readonly generation: number;
    readonly committed: number;
    readonly again: boolean;
  }) => void;
  readonly isConnected: () => boolean;
  readonly handedOver: () => boolean;
  readonly die: (keepsSpool: boolean) => void;
  readonly rise: () => void;
  readonly flush: () => void;
  readonly generation: () => number;
  readonly isIdle: () => boolean;
  /**
   * Takes no turns until it resumes: what is under way comes to rest before a jump through a calm
   * time.
   */
  readonly hush: () => void;
  /** Turns anew from now. */
  readonly resume: () => void;
  readonly lastTurn: (monitor: number, until: number) => number | undefined;
};

type Dependencies = {
  readonly story: Story;
  readonly agenda: Agenda;
  readonly truth: Truth;
  readonly bus: Bus;
  readonly record: Record;
};
type Job = { readonly placed: Placed; readonly version: number };

const patience = 15_000;

export const createProbe = (
  spec: ProbeSpec,
  { story, agenda, truth, bus, record }: Dependencies,
): Probe => {
  const { index, continent } = spec;
  const jobs: (Job | null)[] = story.monitors.map(() => null);
  const turns: (Turns | undefined)[] = story.monitors.map(() => undefined);
  const round: number[] = story.monitors.map(() => 0);
  const busy: boolean[] = story.monitors.map(() => false);
  let wheel = createWheel(8);
  let wheelRound = 0;
  let roster: Roster = { epoch: 0, probes: [] };
  let alive = true;
  let life = 0;
  let generation = 0;
  let seq = 0;
  let spool: Entry[] = [];
  let committed = 0;
  let sent = 0;
  let outstandingSince: number | null = null;
  let flushAt = Number.POSITIVE_INFINITY;
  let rewoundAt = 0;
  let running = 0;
  let order = 0;
  let hushed = false;

  const isConnected = () =>
    alive && !truth.isCut(index, agenda.now()) && !truth.isBusAway(agenda.now());

  const rewind = () => {
    sent = committed;
    rewoundAt = agenda.now();
    probe.flush();
  };

  const flushBy = (time: number) => {
    if (time >= flushAt) return;
    flushAt = time;
    agenda.at(time, () => {
      if (flushAt === time) probe.flush();
    });
  };

  const seen = (monitor: number, started: number): Outcome => {
    const sickness = truth.sickness(index, started, monitor);
    if (sickness === 'sick') return 'unknown';
    return sickness === 'lies' || truth.isDown(monitor, continent, started) ? 'fail' : 'ok';
  };

  /** A probe that lies fails its other targets too, of which there always are some. */
  const otherTargets = ({ monitor, started }: Made) =>
    truth.sickness(index, started, monitor) === 'lies'
      ? { passed: 0, failed: 3 }
      : { passed: 3, failed: 0 };

  const finish = (made: Made, took_ms: number) => {
    running -= 1;
    seq += 1;
    const { at, outcome, version, look: recheck } = made;
    const cause = outcome === 'fail' ? { class: 'connection_refused', params: {} } : null;
    const result = {
      seq,
      monitor: String(made.monitor),
      config_version: version,
      at,
      took_ms,
      outcome,
      cause,
      phases: null,
      evidence: null,
      look: recheck,
      ...(outcome === 'fail' ? { others: otherTargets(made) } : {}),
    };
    spool.push({ result, made });
    record.made[made.monitor]?.push(made);
    flushBy(agenda.now() + (outcome === 'fail' || recheck !== null ? 0 : 800));
  };

  const check = (monitor: number, version: number, recheck: string | null) => {
    const started = agenda.now();
    order += 1;
    record.checks += 1;
    running += 1;
    const outcome = seen(monitor, started);
    const isSlow =
      outcome === 'fail' &&
      truth.sickness(index, started, monitor) === 'well' &&
      truth.answers(monitor, continent, started) === 'slow';
    const took = isSlow
      ? (story.monitors[monitor]?.timeout_ms ?? 0)
      : Math.floor(20 + noise(story.seed, index * 64 + monitor, order, 7) * 180);
    const at = started + truth.skew(index, started) + truth.ahead(started);
    const made: Made = {
      monitor,
      probe: index,
      continent,
      version,
      started,
      at,
      outcome,
      look: recheck,
      order,
      counted: 0,
      decided_at: null,
      quarantined: false,
      stale: false,
      lost: false,
    };
    const born = life;
    if (recheck === null) busy[monitor] = true;
    agenda.at(started + took, () => {
      if (recheck === null) busy[monitor] = false;
      if (born === life) finish(made, took);
      else running -= 1;
    });
  };

  const due = (monitor: number) => {
    const job = jobs[monitor];
    if (alive && !hushed && job && !busy[monitor]) check(monitor, job.version, null);
  };

  const turnByTurn = (monitor: number) => {
    const mine = turns[monitor];
    round[monitor] = (round[monitor] ?? 0) + 1;
    if (!mine) return;
    const now = round[monitor];
    const next = (from: number) => {
      const time = nextTurn(mine, from);
      const act = () => {
        if (round[monitor] !== now) return;
        due(monitor);
        next(time + 1);
      };
      agenda.at(time, act, true);
    };
    next(agenda.now());
  };

  const turnWheel = () => {
    wheelRound += 1;
    const now = wheelRound;
    const next = () => {
      const act = () => {
        if (wheelRound !== now) return;
        wheel.advance(agenda.now(), (monitor, time) => {
          const mine = turns[monitor];
          if (!mine || nextTurn(mine, time) !== time)
            record.violations.push(
              `the wheel of probe ${index} fired monitor ${monitor} at ${time}, which is no turn of it`,
            );
          due(monitor);
        });
        if (wheel.count() > 0) next();
      };
      agenda.at(wheel.nextAt(agenda.now(), 1_000), act, true);
    };
    if (wheel.count() > 0) next();
  };

  const place = (monitor: number) => {
    const job = jobs[monitor];
    turns[monitor] = job && alive ? shareOf(job.placed, spec.id, roster) : undefined;
    if (!story.wheel) {
      turnByTurn(monitor);
      return;
    }
    const mine = turns[monitor];
    if (mine) wheel.add(monitor, mine, agenda.now());
    else wheel.remove(monitor);
    turnWheel();
  };

  const placeAll = () => {
    for (const monitor of jobs.keys()) place(monitor);
  };

  const probe: Probe = {
    spec,
    hear: (next) => {
      if (!alive || next.epoch <= roster.epoch) return;
      roster = next;
      placeAll();
    },
    rosterEpoch: () => roster.epoch,
    holds: (monitor, version) => (jobs[monitor]?.version ?? null) === version,
    assign: (monitor, placed, version) => {
      if (
        !alive ||
        (jobs[monitor]?.version ?? 0) > version ||
        probe.holds(monitor, placed && version)
      )
        return;
      jobs[monitor] = placed ? { placed, version } : null;
      place(monitor);
    },
    look: (monitor, version, recheck) => {
      if (isConnected()) check(monitor, version, recheck);
    },
    receive: (receipt) => {
      if (!isConnected() || receipt.generation !== generation) return;
      if (receipt.committed > committed) {
        committed = receipt.committed;
        spool = spool.filter(({ result }) => result.seq > committed);
        sent = Math.max(sent, committed);
        outstandingSince = spool.length > 0 ? agenda.now() : null;
      }
      const stuck = outstandingSince !== null && agenda.now() - outstandingSince > patience;
      if (stuck) outstandingSince = agenda.now();
      if ((receipt.again && agenda.now() - rewoundAt > 1000) || stuck) rewind();
    },
    isConnected,
    handedOver: () =>
      spool.every(
        ({ result, made }) =>
          result.seq <= sent || made.started + result.took_ms > agenda.now() - 2000,
      ),
    die: (keepsSpool) => {
      if (!alive) return;
      alive = false;
      life += 1;
      if (!keepsSpool) {
        for (const { made } of spool) made.lost = true;
        spool = [];
        generation += 1;
        seq = 0;
        committed = 0;
      }
      for (const monitor of busy.keys()) busy[monitor] = false;
      wheel = createWheel(8);
      placeAll();
    },
    rise: () => {
      if (alive) return;
      alive = true;
      sent = committed;
      outstandingSince = null;
      placeAll();
      probe.flush();
    },
    flush: () => {
      flushAt = Number.POSITIVE_INFINITY;
      if (!isConnected()) {
        if (spool.length > 0 && alive) flushBy(agenda.now() + 1000);
        return;
      }
      const entries = spool.filter(({ result }) => result.seq > sent).slice(0, 500);
      const last = entries.at(-1)?.result.seq;
      if (last === undefined) return;
      const before = sent;
      const landed = bus.publish({
        probe: index,
        generation,
        after: sent > committed ? sent : null,
        entries,
      });
      sent = last;
      outstandingSince ??= agenda.now();
      const born = life;
      if (!landed)
        agenda.at(agenda.now() + 2000, () => {
          if (born !== life) return;
          sent = Math.min(sent, Math.max(before, committed));
          probe.flush();
        });
    },
    generation: () => generation,
    isIdle: () => running === 0 && spool.length === 0,
    hush: () => {
      hushed = true;
    },
    resume: () => {
      hushed = false;
      if (story.wheel) turnWheel();
      else for (const monitor of jobs.keys()) turnByTurn(monitor);
    },
    lastTurn: (monitor, until) => {
      const mine = turns[monitor];
      return mine && nextTurn(mine, until - mine.period_ms);
    },
  };
  return probe;
};
