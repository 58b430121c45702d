import { countedMinutes, type listCheckers as operation } from '../../../shared/api/inner/inner-probes.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { type CheckerRow, checkersFor, refutedShares } from '../../store/store-probe-trust.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { trustOut } from './operation-probe-trust-out.ts';

/** What keeps it from being believed comes before whether it is heard. */
const stateOf = ({
  quarantined_at,
  doubted_at,
  last_seen_at,
  is_lost,
}: CheckerRow): 'well' | 'lost' | 'doubted' | 'quarantined' | 'unseen' => {
  if (last_seen_at === null) return 'unseen';
  if (is_lost) return 'lost';
  if (doubted_at !== null) return 'doubted';
  return quarantined_at === null ? 'well' : 'quarantined';
};

export const listCheckers = async ({ sql, organisation, now }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const [rows, shares] = await Promise.all([
    checkersFor(sql, organisation.id, new Date(now - countedMinutes * 60_000)),
    refutedShares(sql, now),
  ]);
  const items = rows.map((row) => ({
    ...trustOut(row, shares),
    ...{ private: row.is_private, state: stateOf(row), monitors: row.monitors, checks: row.checks, has_checked: row.has_checked },
  }));
  return { items };
};
