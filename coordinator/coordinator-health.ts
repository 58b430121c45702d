import { serverFault } from '../shared/bus/jetstream.ts';
import type { Bus } from '../shared/bus/nats.ts';
import { partitionCount } from '../shared/bus/subjects.ts';
import type { Roster } from '../shared/checks/assignment.ts';
import type { Standing } from './faces/face-health.ts';
import type { Movement } from './house/house-movement-of-parts.ts';
import type { StreamWatch } from './house/house-stream-watch.ts';
import type { Sql } from './store/store-database.ts';
import { ownedPartitions } from './store/store-leases.ts';

type Parts = {
  readonly sql: Sql;
  readonly bus: Bus;
  /** Where coordinators and probes reach the bus. */
  readonly entrances: readonly string[];
  readonly movement: Movement;
  readonly streamWatch: StreamWatch;
  readonly roster: () => Roster;
  readonly isResting: () => boolean;
};

/** How the engine of a coordinator is. */
export const standingOf = async ({
  sql,
  bus,
  entrances,
  movement,
  streamWatch,
  roster,
  isResting,
}: Parts): Promise<Omit<Standing, 'database'>> => {
  const standing = movement.standing();
  const stands = (what: string) => standing.some((name) => name.startsWith(what));
  return {
    bus: bus.isConnected(),
    busFault: serverFault(bus.serverVersion(), entrances),
    partitions: (await ownedPartitions(sql)) === partitionCount && !stands('partition'),
    streams: streamWatch.areLed() && !stands('stream'),
    resting: isResting(),
    probes: roster()
      .probes.filter(({ organisation }) => organisation === null)
      .map(({ name, continent, healthy }) => ({ name, continent, present: healthy })),
  };
};
