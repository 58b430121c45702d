import type { Continent } from '../../shared/base/continents.ts';
import { createDigest, type Digest } from '../../shared/checks/digest.ts';
import { assignedVersions, openMonitorLines } from '../store/assigned.ts';
import type { Sql } from '../store/database.ts';
import type { ProbeRow } from '../store/probes.ts';
import type { Directory } from './directory.ts';
import type { Present } from './presence.ts';

/**
 * Compares what each probe says it holds with what the database wants it to hold. A difference that lasts over two comparisons, while
 * nothing is on its way, is a loss: everything is sent to that probe anew.
 */
export type DigestCheck = { readonly tick: () => Promise<void> };

type Parts = {
  readonly sql: Sql;
  readonly directory: Directory;
  readonly presentOf: (probe: string) => Present | undefined;
  readonly resync: (probe: ProbeRow, times: number) => Promise<void>;
};

type Place = Continent | string;

export const createDigestCheck = ({ sql, directory, presentOf, resync }: Parts): DigestCheck => {
  /** Probe → what was wanted and held when they differed, and how often it was sent anew. */
  const differing = new Map<string, { readonly signature: string; times: number }>();
  let restUntil = 0;

  const wanted = async (): Promise<(probe: ProbeRow) => Digest> => {
    const places = new Map<Place, Digest>();
    const at = (place: Place): Digest => {
      const known = places.get(place);
      if (known) return known;
      const made = createDigest();
      places.set(place, made);
      return made;
    };
    const publicContinents = new Set(directory.all().flatMap((row) => (row.organisation_id === null ? [row.continent] : [])));
    for await (const page of assignedVersions(sql))
      for (const { id, config_version, continents, probe } of page) {
        if (probe !== null) at(probe).add(id, config_version);
        else
          for (const continent of publicContinents)
            if (!continents || continents.includes(continent)) at(continent).add(id, config_version);
      }
    return (row) => at(row.organisation_id === null ? row.continent : row.id);
  };

  return {
    tick: async () => {
      const began = performance.now();
      if (began < restUntil || (await openMonitorLines(sql)) > 0) return;
      const digestFor = await wanted();
      // A hundred thousand monitors take their time: it shall never be more than a two-hundredth of ours.
      restUntil = performance.now() + 200 * (performance.now() - began);
      if ((await openMonitorLines(sql)) > 0) return;
      for (const probe of directory.all()) {
        const present = presentOf(probe.id);
        if (!present || probe.revoked_at !== null) continue;
        const digest = digestFor(probe);
        const { count, digest: held } = present.message.assignments;
        const signature = `${digest.text()} ${held}`;
        const before = differing.get(probe.id);
        if (digest.text() === held && digest.count() === count) differing.delete(probe.id);
        else if (before?.signature !== signature) differing.set(probe.id, { signature, times: before?.times ?? 0 });
        else {
          before.times += 1;
          await resync(probe, before.times);
        }
      }
    },
  };
};
