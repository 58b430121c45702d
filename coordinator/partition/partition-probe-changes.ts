import type { Assignments } from '../probes/probes-assignments.ts';
import type { Directory } from '../probes/probes-directory.ts';
import type { Partitions } from './partition-shares.ts';

type Parts = {
  readonly directory: Directory;
  readonly assignments: Pick<Assignments, 'served'>;
  readonly partitions: Pick<Partitions, 'reconcile' | 'tellAll'>;
};

/** Partitions are told what the directory shows anew: a continent that now has a probe, a probe that is now in quarantine. */
export const tellChangesOfProbes = ({ directory, assignments, partitions }: Parts): void => {
  let served = assignments.served().join();
  const quarantined = new Set(directory.all().flatMap((row) => (row.quarantined_at === null ? [] : [row.id])));
  directory.onChange(() => {
    if (assignments.served().join() !== served) partitions.reconcile();
    served = assignments.served().join();
    for (const row of directory.all()) {
      if (row.quarantined_at === null) quarantined.delete(row.id);
      else if (!quarantined.has(row.id)) {
        quarantined.add(row.id);
        partitions.tellAll({ is: 'quarantined', probe: row.id });
      }
    }
  });
};
