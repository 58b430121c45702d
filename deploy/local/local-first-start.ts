/**
 * What the first start makes in a database: a local organisation, its owner with a read-write token, and the three probes. The operator's
 * own operations, through the gate, in one process that ends (local-first-start-process.ts); each result is kept as soon as it is there, so
 * that an interrupted start goes on where it was.
 */
import type { Order } from './local-first-start-steps.ts';
import { type Made, madeShape, type SiteName } from './local-home-state.ts';
import type { Maker } from './local-maker-process.ts';

export type Network = {
  readonly email: string;
  readonly password: string;
  readonly apiToken: string;
  readonly probes: Readonly<Record<SiteName, string>>;
};

/** All of it, when nothing is missing. */
export const asNetwork = ({ owner, apiToken, probes: { Frankfurt, Virginia, Singapore } }: Made): Network | undefined =>
  owner && apiToken && Frankfurt && Virginia && Singapore ? { ...owner, apiToken, probes: { Frankfurt, Virginia, Singapore } } : undefined;

export type FirstStart = {
  readonly maker: Maker;
  readonly order: Order;
  /** Called after every step with all that is made so far. */
  readonly keep: (made: Made) => void;
};

/** Settles as soon as all is made. @throws with what the process said when it failed. */
export const makeNetwork = async ({ maker, order, keep }: FirstStart): Promise<Network> => {
  const whole = Promise.withResolvers<Network>();
  const ended = maker.order(order, (line) => {
    const made = madeShape.parse(JSON.parse(line));
    keep(made);
    const network = asNetwork(made);
    if (network !== undefined) whole.resolve(network);
  });
  return await Promise.race([whole.promise, ended]);
};
