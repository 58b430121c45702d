import type { Mutation } from './types.ts';

const holding = 'coordinator/engine/holding.ts';
const division = 'coordinator/engine/division.ts';

const mutation = (
  name: string,
  file: string,
  text: string,
  instead: string,
  seed: number,
): Mutation => ({ name, file, text, instead, tells: 'fleet', seed });

/** What could be wrong with how coordinators hold their partitions, and divide them. */
export const fleetMutations: readonly Mutation[] = [
  mutation(
    'the renewal of leases waits for partitions that end',
    holding,
    'if (isClosed || renewal) return;',
    'if (isClosed || renewal || ending.size > 0) return;',
    2,
  ),
  mutation(
    'a renewal without an answer is waited for',
    holding,
    'renewal = undefined; if (!asked || !answer || isClosed) return;',
    'if (!asked || !answer || isClosed) return; renewal = undefined;',
    3,
  ),
  mutation(
    'leases hold from the answer on',
    holding,
    'validUntil = asked.at + leaseMs;',
    'validUntil = now + leaseMs;',
    27,
  ),
  mutation(
    'a partition starts again while it ends',
    holding,
    'if (running.has(partition) || ending.has(partition) || leaving.has(partition)) return;',
    'if (running.has(partition)) return;',
    25,
  ),
  mutation(
    'a lease that is ours and does not run here stays so',
    holding,
    'if (!asked.ending.has(lease.partition)) begin(lease, false);',
    '',
    2,
  ),
  mutation(
    'a partition that was handed over is never released',
    holding,
    "if (how === 'handed over') release([partition]);",
    '',
    1,
  ),
  mutation(
    'what ends while others are released is never released',
    holding,
    'isReleasing = false; release([]);',
    'isReleasing = false;',
    1,
  ),
  mutation(
    'free leases are looked for once, if the database does not answer',
    holding,
    'if (!free || !mayWork(now)) return divided();',
    'if (!free || !mayWork(now)) return;',
    10,
  ),
  mutation(
    'a silent coordinator is forgotten with its lease',
    division,
    'take: Math.ceil(partitions / (1 + others.counted))',
    'take: Math.ceil(partitions / (1 + others.heard))',
    531,
  ),
  mutation(
    'what nobody could renew is taken at once',
    division,
    'if (inTimeMs < leaseMs) return [];',
    '',
    747,
  ),
];
