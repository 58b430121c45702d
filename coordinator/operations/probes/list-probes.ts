import type { listProbes as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { refutedShares } from '../../store/store-probe-trust.ts';
import type { Answer, Context } from '../operation-context.ts';
import { trustOut } from './operation-probe-trust-out.ts';

export const listProbes = async ({ sql, now, with: { probes } }: Context): Answer<OutputOf<typeof operation>> => {
  const [listed, shares] = await Promise.all([probes.listProbes(sql), refutedShares(sql, now)]);
  const items = listed.map((probe) => ({
    ...trustOut(probe, shares),
    organisation: probe.organisation,
    revoked_at: probe.revoked_at?.toISOString() ?? null,
  }));
  return { items, count: items.length };
};
