import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiRevision, apiVersion } from '../../shared/api/operation.ts';
import { version } from '../../shared/base/process.ts';
import { serverFault } from '../../shared/bus/jetstream.ts';
import { batchVersion, wireVersion } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionCount } from '../../shared/bus/subjects.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { SetLimitHeaders } from '../api/routes.ts';
import type { Sql } from '../database/connect.ts';
import { migrationNames } from '../database/migration-files.ts';
import { ownedPartitions } from '../engine/queries.ts';
import type { StreamWatch, Watchdog } from './watches.ts';

/** The present state of the parts. An unknown one counts as unhealthy. */
export type HealthInput = {
  /** Whether it answers. */
  readonly database: boolean;
  readonly bus: boolean;
  /** Whether every stream has a leader, and its readers make progress. */
  readonly streams: boolean;
  /** Whether every partition has an owner. */
  readonly partitions: boolean;
  readonly probes: readonly {
    readonly name: string;
    readonly continent: string;
    readonly present: boolean;
  }[];
  /** Whether this coordinator leaves its partitions to others, because they stalled repeatedly. */
  readonly resting: boolean;
  /** Whether it takes the same partitions again and again. */
  readonly circling: boolean;
  /** Why the bus must not be used, in words. */
  readonly busFault: string | undefined;
};

export type Health = {
  readonly look: () => Promise<HealthInput>;
  /** The versions of API, wire and schema of this coordinator. */
  readonly versions: () => Readonly<Record<string, string | number>>;
  /** The time zone data that it uses, and how old it is at least. */
  readonly timeZones: () => {
    readonly version: string | null;
    readonly released_on: string | null;
    readonly least_age_days: number | null;
  };
  /** Whether it has connected to database and bus; they may be down again. */
  readonly isAtWork: () => boolean;
  /** Whether it was told to end. */
  readonly isLeaving: () => boolean;
};

/**
 * Why this process must get no requests now; empty means that it is ready. A fault of all
 * coordinators is no reason: a load balancer would remove every one of them, while each can still
 * show status pages, keep pings on its disk and report the fault.
 */
export function obstacles({
  isAtWork,
  isLeaving,
}: Pick<Health, 'isAtWork' | 'isLeaving'>): readonly string[] {
  return [
    ...(isLeaving() ? ['This coordinator is shutting down.'] : []),
    ...(isAtWork()
      ? []
      : ['This coordinator is starting: it waits for its database, or for the bus.']),
  ];
}

/**
 * Three endpoints. `/health`: is the installation healthy, for people and monitors. `/readyz`: may
 * this process get requests, for load balancers. `/livez`: does the process answer, for its
 * supervisor; a restart would help with nothing else.
 */
export function healthRoutes(web: FastifyInstance, health: Health, beside: SetLimitHeaders): void {
  const { look, versions, timeZones } = health;
  const fresh = (request: FastifyRequest, reply: FastifyReply, isWell: boolean) => {
    beside(request.ip, reply);
    return reply.code(isWell ? 200 : 503).header('cache-control', 'no-store');
  };

  // Load balancers often send HEAD.
  web.get('/health', { exposeHeadRoute: true }, async (request, reply) => {
    const standing = await look();
    const { busFault: _, resting: __, circling: ___, ...parts } = standing;
    const why = faultsOf(standing);
    const status = why.length === 0 ? 'ok' : 'degraded';
    return fresh(request, reply, why.length === 0).send({
      status,
      why,
      parts,
      versions: versions(),
      time_zones: timeZones(),
    });
  });
  web.get('/livez', { exposeHeadRoute: true }, async (request, reply) =>
    fresh(request, reply, true).send({ status: 'ok' }),
  );
  web.get('/readyz', { exposeHeadRoute: true }, async (request, reply) => {
    const why = obstacles(health);
    return fresh(request, reply, why.length === 0).send({
      status: why.length === 0 ? 'ok' : 'not ready',
      why,
    });
  });
}

/** Why the installation is unhealthy. */
function faultsOf({
  database,
  bus,
  streams,
  partitions,
  probes,
  resting,
  circling,
  busFault,
}: HealthInput): readonly string[] {
  return [
    ...(database ? [] : ['The database does not answer, or is not yet of this version.']),
    ...(bus ? [] : ['The bus cannot be reached.']),
    ...(bus && !streams
      ? ['Streams of the bus have no leader, or what waits in them is not read.']
      : []),
    ...(partitions ? [] : ['Not every partition is worked on.']),
    ...(resting
      ? [
          'This coordinator leaves its partitions to others for a while: work on them stood again and again.',
        ]
      : []),
    ...(circling
      ? [
          'Coordinators take the same partitions from each other again and again: results come late.',
        ]
      : []),
    // However healthy the rest is, nothing is checked then.
    ...(probes.some(({ present }) => present)
      ? []
      : ['No public probe is heard: nothing is checked.']),
    ...(busFault === undefined ? [] : [busFault]),
  ];
}

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Bus;
  /** Where coordinators and probes reach the bus. */
  readonly entrances: readonly string[];
  readonly movement: Watchdog;
  readonly streamWatch: StreamWatch;
  readonly roster: () => Roster;
  readonly isResting: () => boolean;
  readonly isCircling: () => boolean;
};

/** The health of a coordinator's engine. */
export async function healthOf({
  sql,
  bus,
  entrances,
  movement,
  streamWatch,
  roster,
  isResting,
  isCircling,
}: Dependencies): Promise<Omit<HealthInput, 'database'>> {
  const stalled = movement.stalled();
  const isStalled = (what: string) => stalled.some((name) => name.startsWith(what));
  return {
    bus: bus.isConnected(),
    busFault: serverFault(bus.serverVersion(), entrances),
    partitions: (await ownedPartitions(sql)) === partitionCount && !isStalled('partition'),
    streams: streamWatch.areLed() && !isStalled('stream'),
    resting: isResting(),
    circling: isCircling(),
    probes: roster()
      .probes.filter(({ organisation }) => organisation === null)
      .map(({ name, continent, healthy }) => ({ name, continent, present: healthy })),
  };
}

export type Versions = {
  readonly program: string;
  /** Of the API's document. */
  readonly api: string;
  /** How many additions that document has had since: `x-revision` in it. */
  readonly api_revision: number;
  /** Of the messages on the bus, and of the batches of results among them. */
  readonly wire: number;
  readonly batches: number;
  /** The number of the newest migration that this coordinator knows; the database may be newer. */
  readonly schema: string;
};

/** Which versions fit together: shown by `/health` and `--version`. */
export function versions(): Versions {
  return {
    program: version,
    api: apiVersion,
    api_revision: apiRevision,
    wire: wireVersion,
    batches: batchVersion,
    schema: migrationNames().at(-1)?.slice(0, 3) ?? 'none',
  };
}
