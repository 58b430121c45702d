import { connectBus } from '../../../shared/bus/nats.ts';
import { streams } from '../../../shared/bus/subjects.ts';
import { eventually } from '../../support/eventually.ts';
import { prepareResults, sendResults } from '../ingest/feed.ts';
import { cpuOf } from '../processes.ts';
import type { Rig } from '../scale/rig.ts';

export type Fed = {
  readonly results: number;
  /** Results a second, from the bus to their commit. */
  readonly rate: number;
  /** CPU of the coordinator, in microseconds a result. */
  readonly cpu: number;
  /** What Postgres keeps until the hour is sealed, and its log, in bytes a result. */
  readonly stored: number;
  readonly logged: number;
};

/** More at once would be a measure of this process. */
const maxMonitors = 200_000;
/** Fewer would be too few to tell; monitors get several then. */
const minResults = 100_000;
const forms = ['journal', 'chunks'];

/** Results as fast as the coordinator takes them, beside the real checks. */
export const feed = async ({ network, coordinator, sql }: Rig): Promise<Fed> => {
  const bus = await connectBus({
    url: network.account.url,
    credentials: network.account.coordinatorCredentials,
    name: 'bench feed',
    log: network.log,
  });
  const isTaken = () =>
    eventually(
      async () => ((await bus.streamState(streams.results.name))?.messages ?? 0) < 50,
      600_000,
      20,
    );
  try {
    const rows = await sql<{ partition: number; ids: string[] }[]>`
      select partition, array_agg(id) as ids
      from (select partition, id from monitors order by key limit ${maxMonitors}) m
      group by partition`;
    const byPartition = new Map(rows.map(({ partition, ids }) => [partition, ids]));
    const probe = await network.makeProbe('Africa');
    const monitors = rows.reduce((sum, { ids }) => sum + ids.length, 0);
    const rounds = Math.ceil(minResults / monitors);
    const now = Date.now();
    const roundAt = (nth: number) => prepareResults(probe, byPartition, now - (rounds - nth) * 500);
    // The first result of a monitor makes it up, which is written; those that follow are the rule.
    await sendResults(bus, roundAt(-1));
    await isTaken();
    const prepared = Array.from({ length: rounds }, (_, nth) => roundAt(nth)).flat();
    const results = monitors * rounds;
    const before = { ...(await storage(sql)), cpu: cpuOf(coordinator.pid) };
    const began = performance.now();
    await sendResults(bus, prepared);
    await isTaken();
    const seconds = (performance.now() - began) / 1_000;
    const after = await storage(sql);
    return {
      results,
      rate: results / seconds,
      cpu: ((cpuOf(coordinator.pid) - before.cpu) * 1_000) / results,
      stored: (after.bytes - before.bytes) / results,
      logged: (after.log - before.log) / results,
    };
  } finally {
    await bus.close();
  }
};

/** Bytes of everything that holds results, and where the log is. */
async function storage(sql: Rig['sql']): Promise<{ bytes: number; log: number }> {
  const [row] = await sql<{ bytes: number; log: number }[]>`
    select coalesce(sum(pg_total_relation_size(t.relid)), 0)::float8 as bytes,
      (pg_current_wal_lsn() - '0/0')::float8 as log
    from pg_class c, pg_partition_tree(c.oid) t
    where c.relname = any(${forms}) and c.relkind = 'p'
      and c.relnamespace = current_schema()::regnamespace`;
  return row ?? { bytes: 0, log: 0 };
}
