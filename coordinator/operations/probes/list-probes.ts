import type { listProbes as operation } from '../../../shared/api/inner/probes.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import type { Answer, Context } from '../context.ts';

export const listProbes = async ({ sql, with: { probes } }: Context): Answer<OutputOf<typeof operation>> => {
  const items = (await probes.listProbes(sql)).map(({ created_at, last_seen_at, revoked_at, quarantined_at, ...probe }) => ({
    ...probe,
    created_at: created_at.toISOString(),
    last_seen_at: last_seen_at?.toISOString() ?? null,
    revoked_at: revoked_at?.toISOString() ?? null,
    quarantined: quarantined_at !== null,
  }));
  return { items, count: items.length };
};
