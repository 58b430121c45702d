import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SayBeside } from './rest/rest-routes.ts';

/** What there is to know of the parts at this moment. Whatever could not be told is not well. */
export type Standing = {
  /** Whether it answers. */
  readonly database: boolean;
  readonly bus: boolean;
  /** Whether every stream has a leader, and what waits there is read. */
  readonly streams: boolean;
  /** Whether every partition has an owner. */
  readonly partitions: boolean;
  readonly probes: readonly { readonly name: string; readonly continent: string; readonly present: boolean }[];
  /** Why the bus must not be used, in words. */
  readonly busFault: string | undefined;
};

export type Health = {
  readonly look: () => Promise<Standing>;
  /** Which versions of API, wire and schema fit this coordinator. */
  readonly versions: () => Readonly<Record<string, string | number>>;
  /** The time zones that it goes by, and how old they are for certain. */
  readonly timeZones: () => {
    readonly version: string | null;
    readonly released_on: string | null;
    readonly least_age_days: number | null;
  };
  /** Whether it was told to end. */
  readonly isLeaving: () => boolean;
};

/** Why this coordinator must get no requests now; none means that it is ready. */
export const obstacles = ({ database, bus, streams, busFault }: Standing, isLeaving: boolean): readonly string[] => [
  ...(isLeaving ? ['This coordinator was told to end.'] : []),
  ...(database ? [] : ['The database does not answer, or is not yet of this version.']),
  ...(bus ? [] : ['The bus cannot be reached.']),
  ...(bus && !streams ? ['Streams of the bus have no leader: nothing goes through them.'] : []),
  ...(busFault === undefined ? [] : [busFault]),
];

/**
 * Three questions. `/health`: is the installation well, for people and monitors. `/readyz`: may this coordinator be sent requests, for whoever shares
 * them out. `/livez`: does the process go on, for whoever starts it again; a new process would help against nothing else.
 */
export const healthRoutes = (web: FastifyInstance, { look, versions, timeZones, isLeaving }: Health, beside: SayBeside): void => {
  const fresh = (request: FastifyRequest, reply: FastifyReply, isWell: boolean) => {
    beside(request.ip, reply);
    return reply.code(isWell ? 200 : 503).header('cache-control', 'no-store');
  };

  // Load balancers often ask for the head alone.
  web.get('/health', { exposeHeadRoute: true }, async (request, reply) => {
    const { busFault: _, ...parts } = await look();
    // Without a probe that everyone's monitors share nothing is checked, whatever else is well.
    const isChecking = parts.probes.some(({ present }) => present);
    const isWell = parts.database && parts.bus && parts.streams && parts.partitions && isChecking;
    return fresh(request, reply, isWell).send({ status: isWell ? 'ok' : 'degraded', parts, versions: versions(), time_zones: timeZones() });
  });
  web.get('/livez', { exposeHeadRoute: true }, async (request, reply) => fresh(request, reply, true).send({ status: 'ok' }));
  web.get('/readyz', { exposeHeadRoute: true }, async (request, reply) => {
    const why = obstacles(await look(), isLeaving());
    return fresh(request, reply, why.length === 0).send({ status: why.length === 0 ? 'ok' : 'not ready', why });
  });
};
