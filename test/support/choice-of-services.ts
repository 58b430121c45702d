/** Which way a run of tests gets its Postgres and its nats-server. Pure: what was found out is an argument. */

export type Way = 'binaries' | 'containers';

export type Circumstances = {
  /** What the person asked for with TEST_SERVICES. */
  readonly wanted: string | undefined;
  /** Why the binary of a part cannot be had, a line each; empty where both can. */
  readonly binaryFaults: readonly string[];
  /** Why no Docker engine answers; undefined where one does. */
  readonly engineFault: string | undefined;
};

/** Whether it matters if an engine answers: asking takes a third of a second, which the usual run does not pay. */
export const needsEngine = ({ wanted, binaryFaults }: Pick<Circumstances, 'wanted' | 'binaryFaults'>): boolean =>
  wanted === 'containers' || binaryFaults.length > 0;

/** @throws when no way is left, or the one that was asked for does not exist, with what to do about it. */
export const wayToServices = ({ wanted, binaryFaults, engineFault }: Circumstances): Way => {
  if (wanted !== undefined && wanted !== 'containers') throw new Error(`TEST_SERVICES is ${wanted}: it may be containers, or not set`);
  if (wanted === undefined && binaryFaults.length === 0) return 'binaries';
  if (engineFault === undefined) return 'containers';
  const why = wanted === undefined ? binaryFaults.join('; ') : 'TEST_SERVICES=containers asks for a Docker engine';
  throw new Error(
    `The tests have no Postgres and nats-server: ${why}. Nor does a Docker engine answer, which would run both: ${engineFault}`,
  );
};
