import { z } from 'zod';
import { streams } from '../../shared/bus/streams.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { type MonitorRow, monitorsOfPartition } from '../store/watched.ts';
import type { PartitionParts } from './partition-parts.ts';

/**
 * Sees to it that the bus holds the assignments of all monitors of a partition. A marker beside them says for which database and which
 * continents that was done, and under which keys; a wiped bus has lost it, a restored database is another, a first probe of a continent
 * adds to it, and a revoked probe takes a key out of use.
 */
const marker = z.object({
  installation: z.string(),
  served: z.array(z.string()),
  /** Place → epoch of the key that its secrets are sealed under. */
  sealed: z.record(z.string(), z.number()).default({}),
});

const readMarker = async (partition: number, { bus }: PartitionParts): Promise<z.infer<typeof marker> | undefined> => {
  const last = await bus.last(streams.assignments.name, subjects.marker(partition));
  if (!last || last.data.length === 0) return undefined;
  const read = marker.safeParse(JSON.parse(new TextDecoder().decode(last.data)));
  return read.success ? read.data : undefined;
};

/** Assignments in the stream of monitors that this database does not have get a tombstone. */
const buryStrangers = async (partition: number, known: ReadonlySet<string>, { bus }: PartitionParts): Promise<void> => {
  for (const subject of await bus.subjectsOf(streams.assignments.name, subjects.allAssignments)) {
    const monitor = subject.split('.').at(-1) ?? '';
    if (subject.startsWith('assign.marker.') || partitionOf(monitor) !== partition || known.has(monitor)) continue;
    const last = await bus.last(streams.assignments.name, subject);
    if (last && last.data.length > 0) await bus.store(subject, new Uint8Array());
  }
};

/** True when something had to be published. @throws when the bus is away. */
export const reconcile = async (partition: number, parts: PartitionParts): Promise<boolean> => {
  const { sql, bus, assignments, installation, log } = parts;
  const before = await readMarker(partition, parts);
  const served = assignments.served();
  const sealed = assignments.sealEpochs();
  const isKnown = before?.installation === installation && served.every((continent) => before.served.includes(continent));
  const outdated = new Set(Object.keys(sealed).filter((place) => (sealed[place] ?? 1) > (before?.sealed[place] ?? 1)));
  if (isKnown && outdated.size === 0) return false;
  const isStranger = before !== undefined && before.installation !== installation;
  const isWanted = (row: MonitorRow): boolean => !isKnown || assignments.sealedFor(row).some((place) => outdated.has(place));
  const known = new Set<string>();
  let count = 0;
  for await (const page of monitorsOfPartition(sql, partition)) {
    // What is paused may still stand there from before; otherwise whatever stands there is replaced.
    const rows = page.filter(isWanted);
    await assignments.publish(rows.map((row) => ({ monitor: row.id, row, isNew: row.paused_at === null && !isStranger })));
    for (const { id } of page) known.add(id);
    count += rows.length;
  }
  if (isStranger) await buryStrangers(partition, known, parts);
  await bus.store(subjects.marker(partition), JSON.stringify({ installation, served, sealed }));
  if (count > 0) log.info({ partition, monitors: count, served, outdated: [...outdated] }, 'assignments published anew');
  return true;
};
