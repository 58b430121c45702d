import { instead, leftOut, mutationsOf, never } from './types.ts';

const mutation = mutationsOf('fleet');

/** What could be wrong with how coordinators hold their partitions, and divide them. */
export const fleetMutations = [
  mutation(
    'the renewal of leases waits for partitions that end',
    'coordinator/engine/holding.ts#createHolding.tick',
    instead('isClosed || renewal', 'isClosed || renewal || ending.size > 0'),
    2,
  ),
  mutation(
    'a renewal without an answer is waited for',
    'coordinator/engine/holding.ts#createHolding.renewed',
    instead('renewal = undefined', 'renewal = asked && answer && !isClosed ? undefined : asked'),
    3,
  ),
  mutation(
    'leases hold from the answer on',
    'coordinator/engine/holding.ts#createHolding.renewed',
    instead('asked.at + leaseMs', 'now + leaseMs'),
    27,
  ),
  mutation(
    'a partition starts again while it ends',
    'coordinator/engine/holding.ts#createHolding.begin',
    instead(
      'running.has(partition) || ending.has(partition) || leaving.has(partition)',
      'running.has(partition)',
    ),
    25,
  ),
  mutation(
    'a lease that is ours and does not run here stays so',
    'coordinator/engine/holding.ts#createHolding.renewed',
    never('!asked.ending.has(lease.partition)'),
    11,
  ),
  mutation(
    'a partition that was handed over is never released',
    'coordinator/engine/holding.ts#createHolding.ended',
    never("how === 'handed over'"),
    1,
  ),
  mutation(
    'what ends while others are released is never released',
    'coordinator/engine/holding.ts#createHolding.released',
    leftOut('release([])'),
    1,
  ),
  mutation(
    'free leases are looked for once, if the database does not answer',
    'coordinator/engine/holding.ts#createHolding.found',
    instead('if (!free || !mayWork(now)) return divided();', 'if (!free || !mayWork(now)) return;'),
    10,
  ),
  mutation(
    'a silent coordinator is forgotten with its lease',
    'coordinator/engine/division.ts#fairShare',
    instead('others.counted', 'others.heard'),
    531,
  ),
  mutation(
    'what nobody could renew is taken at once',
    'coordinator/engine/division.ts#taken',
    never('inTimeMs < leaseMs'),
    747,
  ),
];
