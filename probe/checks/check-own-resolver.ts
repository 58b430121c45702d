import type { CheckDeadline } from './check-deadline.ts';
import { createResolverCheck, systemResolvers } from './dns-resolvers.ts';
import type { UdpSockets } from './dns-sockets.ts';

/**
 * Whether the probe's own resolver works, for checks that need a name looked up: one that answers nobody says nothing about the name
 * (rule 1), however well the rest of the network does.
 */
export type OwnResolver = {
  /** It answered for this name, or knows that it does not exist. */
  readonly answered: (name: string) => void;
  /** Whether it answered for another name since then, or does now. Settles at the latest with the deadline. */
  readonly works: (name: string, since: number, deadline: CheckDeadline) => Promise<boolean>;
};

export const createOwnResolver = (sockets: UdpSockets, resolvers = systemResolvers): OwnResolver => {
  const resolverCheck = createResolverCheck(sockets);
  // Two names are enough: for any name, at least one of the two newest answers was to another.
  let newest = { name: '', at: Number.NEGATIVE_INFINITY };
  let other = newest;
  return {
    answered: (name) => {
      if (newest.name !== name) other = newest;
      newest = { name, at: performance.now() };
    },
    works: async (name, since, deadline) => {
      if ((newest.name === name ? other : newest).at >= since) return true;
      const [first, ...rest] = resolvers();
      return first !== undefined && resolverCheck.reachedOther({ name, type: 'A' }, since, [first, ...rest], deadline);
    },
  };
};
