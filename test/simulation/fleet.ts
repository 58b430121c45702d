import { countedLeases, type FreeLease } from '../../coordinator/engine/division.ts';
import { createHolding, type Held, type Holding } from '../../coordinator/engine/holding.ts';
import type { Lease } from '../../coordinator/engine/queries.ts';
import { partitionCount } from '../../shared/bus/subjects.ts';
import { createAgenda } from './agenda.ts';
import { createChance, smallestThatFails } from './story.ts';

/**
 * Two to four coordinators that share the partitions, on a bus and a database that answer late or
 * not at all, with clocks of their own, while they crash, freeze and are rolled. Whatever happened:
 * 30 s after the last fault each partition has one owner, each check its row and each outage its
 * alert, and no partition moves any more.
 */
type FleetStory = {
  readonly seed: number;
  readonly coordinators: number;
  /** How far each one's clock is ahead. */
  readonly clocks: readonly number[];
  /** What a call of the bus costs it: others wait meanwhile. */
  readonly busWorkMs: number;
  /** How late the bus answers, also when all faults are over. */
  readonly busLateMs: number;
  readonly faults: readonly FleetFault[];
};

type FleetFault = {
  readonly is:
    | 'crash'
    | 'roll'
    | 'freeze'
    | 'stall'
    | 'slow bus'
    | 'slow database'
    | 'database away';
  readonly at: number;
  readonly until: number;
  /** The coordinator, or the partition that stalls. */
  readonly who: number;
};

const second = 1_000;
const faultsEndMs = 120 * second;
const settledMs = faultsEndMs + 30 * second;
const calmMs = settledMs + 60 * second;

const leaseMs = 6 * second;
const renewMs = 1.5 * second;
const stallMs = 30 * second;
/** So long a question to the bus waits, and a statement to the database. */
const patienceMs = 5 * second;
const renewedAtOnce = 8;
/** What was asked before a fault ended may be answered so late. */
const hinderedMs = 15 * second;
/** Each partition has a check so often; of so many one finds an outage. */
const checkMs = 5 * second;
const outageEvery = 7;

export const makeFleetStory = (seed: number): FleetStory => {
  const chance = createChance(seed);
  const coordinators = chance.between(2, 4);
  const faults = Array.from({ length: chance.between(0, 7) }, (): FleetFault => {
    const is = chance.pick([
      'crash',
      'roll',
      'roll',
      'freeze',
      'stall',
      'slow bus',
      'slow database',
      'database away',
    ] as const);
    const at = second * chance.between(20, 105);
    const lasts = is === 'freeze' ? chance.between(1, 15) : chance.between(1, 70);
    return {
      is,
      at,
      until: Math.min(faultsEndMs, at + second * lasts),
      who: chance.between(0, 31),
    };
  });
  return {
    seed,
    coordinators,
    clocks: Array.from({ length: coordinators }, () => second * chance.between(-3_600, 3_600)),
    busWorkMs: chance.between(1, 100),
    busLateMs: chance.between(0, 4_500),
    faults,
  };
};

type Part = { lease: Lease; mode: Held['mode']; epoch: Held['epoch']; isBusy: boolean };

type Coordinator = {
  readonly id: number;
  readonly clockAhead: number;
  readonly holding: Holding;
  readonly running: Map<number, Part>;
  mode: 'alive' | 'closing' | 'dead';
  frozenUntil: number;
};

type Check = { readonly at: number; readonly isOutage: boolean; isStored: boolean };
type Row = { owner: number | null; epoch: number; expiresAt: number };

/** What is wrong with this story at its end; undefined where all is well. */
export const fleetFault = (story: FleetStory): string | undefined => {
  const chance = createChance(story.seed + 1);
  const agenda = createAgenda(0);
  const { now, at } = agenda;
  const partitions = [...Array(partitionCount).keys()];
  const leases = partitions.map((): Row => ({ owner: null, epoch: 0, expiresAt: -1 }));
  const seenAt = new Map<number, number>();
  const streams = partitions.map((): Check[] => []);
  const alerts = new Map<Check, 'due' | 'sent'>();
  const moves: { readonly partition: number; readonly owner: number; readonly at: number }[] = [];
  const stalledUntil = partitions.map(() => 0);
  let busFreeAt = 0;
  let ids = 0;
  let fault: string | undefined;

  const isNow = (is: FleetFault['is']): boolean =>
    story.faults.some((fault) => fault.is === is && fault.at <= now() && now() < fault.until);

  /** Happens later to this coordinator, unless it has died; what happens while it is frozen waits. */
  const later = (one: Coordinator, ms: number, act: () => void): void =>
    at(now() + ms, () => {
      if (one.mode === 'dead') return;
      if (one.frozenUntil > now()) later(one, one.frozenUntil - now(), act);
      else act();
    });
  /** A statement that was sent is carried out, also when nobody waits for its answer any more. */
  const ask = <Answer>(
    one: Coordinator,
    act: () => Answer,
    tell: (answer: Answer | undefined) => void,
  ): void => {
    if (isNow('database away')) {
      later(one, chance.between(1, patienceMs), () => tell(undefined));
      return;
    }
    const ms = chance.between(1, isNow('slow database') ? 10 * second : 200);
    at(now() + ms / 2, () => {
      const answer = isNow('database away') ? undefined : act();
      later(one, ms / 2, () => tell(answer));
    });
  };
  /** The bus works on one call after the other. */
  const callBus = (one: Coordinator, tell: () => void): void => {
    busFreeAt = Math.max(busFreeAt, now()) + story.busWorkMs;
    const late = chance.between(0, isNow('slow bus') ? 10 * second : story.busLateMs);
    later(one, Math.min(patienceMs, busFreeAt + late - now()), tell);
  };

  const start = (slot: number): Coordinator => {
    const id = ids++;
    const clockAhead = story.clocks[slot % story.coordinators] ?? 0;
    const clock = (): number => now() + clockAhead;
    const running = new Map<number, Part>();
    /** Those that renew their consumer, and those that wait for it. */
    let renewing = 0;
    const waiting: Part[] = [];
    const ending = new Set<number>();
    const seen = (withinMs: number): number =>
      [...seenAt].filter(([other, when]) => other !== id && now() - when < withinMs).length;
    const owned = (partition: number, epoch: number): boolean => {
      const row = leases[partition];
      return row?.owner === id && row.epoch === epoch;
    };

    const loaded = (part: Part): void => {
      part.mode = part.mode === 'leaving' ? 'stopped' : 'loaded';
      holding.look();
    };
    const renewNext = (): void => {
      while (renewing < renewedAtOnce) {
        const part = waiting.shift();
        if (!part) return;
        if (part.mode === 'stopped') continue;
        renewing += 1;
        // The old consumer is deleted, and a new one made.
        callBus(one, () =>
          callBus(one, () => {
            renewing -= 1;
            ask(
              one,
              () => true,
              () => loaded(part),
            );
            renewNext();
          }),
        );
      }
    };
    const finish = (part: Part, done: () => void): void => {
      const isStuck = now() < (stalledUntil[part.lease.partition] ?? 0);
      if (part.mode === 'leaving' || part.isBusy || isStuck)
        later(one, 100, () => finish(part, done));
      // Its last checkpoint.
      else
        ask(
          one,
          () => true,
          () => done(),
        );
    };

    const holding = createHolding<Part>({
      running,
      timing: { leaseMs, stallMs },
      acts: {
        renew: () =>
          ask(
            one,
            () => {
              seenAt.set(id, now());
              const mine = partitions.flatMap((partition): Lease[] => {
                const row = leases[partition];
                if (row?.owner !== id) return [];
                row.expiresAt = now() + leaseMs;
                return [{ partition, epoch: row.epoch }];
              });
              return {
                others: { heard: seen(leaseMs), counted: seen(countedLeases * leaseMs) },
                leases: mine,
              };
            },
            (answer) => holding.renewed(answer, clock()),
          ),
        find: () =>
          ask(
            one,
            () =>
              leases.flatMap(({ expiresAt }, partition): FreeLease[] =>
                expiresAt < now() ? [{ partition, freeMs: now() - expiresAt }] : [],
              ),
            (free) => holding.found(free, clock()),
          ),
        take: (wanted) =>
          ask(
            one,
            () =>
              wanted.flatMap((partition): Lease[] => {
                const row = leases[partition];
                if (!row || row.expiresAt >= now()) return [];
                Object.assign(row, { owner: id, epoch: row.epoch + 1, expiresAt: now() + leaseMs });
                moves.push({ partition, owner: id, at: now() });
                return [{ partition, epoch: row.epoch }];
              }),
            (taken) => holding.took(taken, clock()),
          ),
        release: (given) => {
          ask(
            one,
            () => {
              for (const partition of given) {
                const row = leases[partition];
                if (row?.owner === id) Object.assign(row, { owner: null, expiresAt: now() - 1 });
              }
              for (const other of fleet) later(other, 20, other.holding.look);
            },
            () => holding.released(given),
          );
        },
        begin: (lease) => {
          if (ending.has(lease.partition))
            fault ??= `partition ${lease.partition} runs twice at coordinator ${id}`;
          const part: Part = { lease, mode: 'loading', epoch: 'used', isBusy: false };
          waiting.push(part);
          later(one, 0, renewNext);
          return part;
        },
        end: (part) => {
          // One that waits for its turn holds nothing up.
          const isWaiting = waiting.includes(part);
          part.mode = part.mode === 'loading' && !isWaiting ? 'leaving' : 'stopped';
          const { partition } = part.lease;
          ending.add(partition);
          finish(part, () => {
            ending.delete(partition);
            holding.ended(partition);
          });
        },
        gaveUp: () => undefined,
        startResting: () => undefined,
      },
    });

    const work = (part: Part): void => {
      const { partition, epoch } = part.lease;
      if (part.isBusy || part.mode !== 'loaded' || !holding.mayWork(clock())) return;
      const freeIn = (stalledUntil[partition] ?? 0) - now();
      if (freeIn > 0) {
        part.isBusy = true;
        later(one, Math.min(freeIn, stallMs), () => {
          part.isBusy = false;
          if (freeIn > stallMs && running.get(partition) === part)
            holding.stalled(partition, clock());
        });
        return;
      }
      const checks = (streams[partition] ?? []).filter(
        (check) => !check.isStored || alerts.get(check) === 'due',
      );
      if (checks.length === 0) return;
      part.isBusy = true;
      ask(
        one,
        () => {
          if (!owned(partition, epoch)) return 'fenced';
          for (const check of checks) {
            if (check.isOutage) alerts.set(check, check.isStored ? 'sent' : 'due');
            check.isStored = true;
          }
          return 'stored';
        },
        (answer) => {
          part.isBusy = false;
          if (answer === 'fenced' && running.get(partition) === part) holding.fenced(partition);
        },
      );
    };

    const one: Coordinator = {
      id,
      clockAhead,
      holding,
      running,
      mode: 'alive',
      frozenUntil: 0,
    };
    const tick = (): void => {
      if (one.mode !== 'alive') return;
      holding.tick(clock(), true);
      later(one, renewMs, tick);
    };
    const startedAt = now();
    /** Nothing but the database and its own process may keep it from renewing. */
    const isHindered = (): boolean =>
      now() - startedAt < hinderedMs ||
      story.faults.some(
        ({ is, at, until, who }) =>
          (is === 'slow database' ||
            is === 'database away' ||
            (is === 'freeze' && who % story.coordinators === slot)) &&
          at <= now() &&
          now() < until + hinderedMs,
      );
    const workAll = (): void => {
      if (one.mode === 'alive' && !holding.mayWork(clock()) && !isHindered())
        fault ??= `coordinator ${id} let its leases lapse although the database answered`;
      for (const [partition, part] of running) {
        if (holding.mayWork(clock()) && leases[partition]?.owner !== id)
          fault ??= `coordinator ${id} works on partition ${partition}, which another may take`;
        work(part);
      }
      later(one, second, workAll);
    };
    tick();
    workAll();
    return one;
  };

  const fleet = Array.from({ length: story.coordinators }, (_, slot) => start(slot));

  const roll = (slot: number): void => {
    const one = fleet[slot];
    if (one?.mode !== 'alive') return;
    one.mode = 'closing';
    one.holding.close();
    const ids = new Set(one.running.keys());
    one.running.clear();
    later(one, chance.between(100, 5 * second), () => {
      ask(
        one,
        () => {
          seenAt.delete(one.id);
          for (const partition of ids) {
            const row = leases[partition];
            if (row?.owner === one.id) Object.assign(row, { owner: null, expiresAt: now() - 1 });
          }
          for (const other of fleet) later(other, 20, other.holding.look);
        },
        () => {
          one.mode = 'dead';
          at(now() + 3 * second, () => {
            fleet[slot] = start(slot);
          });
        },
      );
    });
  };
  const crash = (slot: number): void => {
    const one = fleet[slot];
    if (one?.mode !== 'alive') return;
    one.mode = 'dead';
    at(now() + 3 * second, () => {
      fleet[slot] = start(slot);
    });
  };
  for (const fault of story.faults)
    at(fault.at, () => {
      const slot = fault.who % story.coordinators;
      const one = fleet[slot];
      if (fault.is === 'crash') crash(slot);
      if (fault.is === 'roll') roll(slot);
      if (fault.is === 'freeze' && one) one.frozenUntil = fault.until;
      if (fault.is === 'stall') stalledUntil[fault.who] = fault.until;
    });
  for (let time = 0; time < settledMs; time += checkMs)
    at(time, () => {
      for (const [partition, stream] of streams.entries())
        stream.push({
          at: now(),
          isOutage: (partition + time / checkMs) % outageEvery === 0,
          isStored: false,
        });
    });

  /** Whoever works on each partition, and what was not done of what was to be done by now. */
  const standing = (): string | undefined => {
    for (const partition of partitions) {
      const holders = fleet.filter(
        ({ mode, running, holding, clockAhead }) =>
          mode === 'alive' &&
          running.get(partition)?.mode === 'loaded' &&
          running.get(partition)?.lease.epoch === leases[partition]?.epoch &&
          holding.mayWork(now() + clockAhead),
      );
      if (holders.length !== 1)
        return `partition ${partition} has ${holders.length} owners 30 s after the last fault`;
      const checks = (streams[partition] ?? []).filter((check) => check.at < faultsEndMs);
      const lost = checks.filter(({ isStored }) => !isStored).length;
      if (lost > 0) return `${lost} checks of partition ${partition} have no row`;
      const untold = checks.filter(
        (check) => check.isOutage && alerts.get(check) !== 'sent',
      ).length;
      if (untold > 0) return `${untold} outages of partition ${partition} have no alert`;
    }
    return undefined;
  };
  at(settledMs, () => {
    fault ??= standing();
  });
  while (now() < calmMs && agenda.step());
  if (fault !== undefined) return fault;
  for (const partition of partitions) {
    const late = moves.filter((move) => move.partition === partition && move.at >= faultsEndMs);
    if (late.length > 3)
      return `partition ${partition} moved ${late.length} times after the faults`;
    if (late.some((move) => move.at >= settledMs))
      return `partition ${partition} moved although all was well for 30 s`;
  }
  return undefined;
};

/** The story with as few faults as still end badly. */
export const shrinkFleet = (story: FleetStory) =>
  smallestThatFails(
    story,
    {
      faultOf: fleetFault,
      kindOf: (fault) => fault.replaceAll(/\d+/g, '#'),
      smaller: function* ({ faults, ...rest }) {
        for (const index of faults.keys()) yield { ...rest, faults: faults.toSpliced(index, 1) };
      },
    },
    200,
  );

export const describeFleet = ({ coordinators, busWorkMs, busLateMs, faults }: FleetStory): string =>
  [
    `${coordinators} coordinators; a call costs the bus ${busWorkMs} ms, and it answers up to ${busLateMs} ms late`,
    ...faults
      .toSorted((a, b) => a.at - b.at)
      .map(({ is, at, until, who }) => `${at / second} s to ${until / second} s: ${is} (${who})`),
  ].join('\n');
