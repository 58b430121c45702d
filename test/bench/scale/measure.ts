import { eventually, passed } from '../../support/eventually.ts';
import { storedChecks } from '../../support/stored-checks.ts';
import { median } from '../figure.ts';
import type { ByPart, Rig } from './rig.ts';

export type Cost = Readonly<Record<keyof ByPart | 'all', number>> & { readonly checks: number };

const committed = async ({ sql }: Rig): Promise<number> => (await storedChecks(sql)).length;

/** What a check costs each part, in milliseconds of CPU, watched for so long. */
export const costOfCheck = async (rig: Rig, ms: number): Promise<Cost> => {
  const before = { cpu: await rig.cpu(), rows: await committed(rig) };
  await passed(ms);
  const after = { cpu: await rig.cpu(), rows: await committed(rig) };
  const checks = after.rows - before.rows;
  const each = (part: keyof ByPart): number => (after.cpu[part] - before.cpu[part]) / checks;
  const parts = {
    coordinator: each('coordinator'),
    probes: each('probes'),
    bus: each('bus'),
    database: each('database'),
  };
  return { ...parts, all: parts.coordinator + parts.probes + parts.bus + parts.database, checks };
};

/**
 * Breaks the target of so many monitors: from the start of the check that failed first to the
 * moment at which the confirmation can be read, median and most, in milliseconds.
 */
export const detection = async (
  rig: Rig,
  monitors: number,
): Promise<{ median: number; most: number }> => {
  const seen = new Map<string, number>();
  rig.breakTarget();
  await eventually(
    async () => {
      const rows = await rig.sql<
        { id: string; started_at: number }[]
      >`select id, started_at from incidents where confirmed_at is not null`;
      for (const { id, started_at } of rows)
        if (!seen.has(id)) seen.set(id, Date.now() - started_at);
      return seen.size >= monitors;
    },
    90_000,
    5,
  );
  return { median: median([...seen.values()]), most: Math.max(...seen.values()) };
};
