import { isIP } from 'node:net';
import type { Warning } from '../../../shared/checks/result.ts';
import type { CheckContext } from '../types.ts';
import { usedAddress } from './evidence.ts';
import type { ReachSeen } from './observation.ts';
import { codesOfTarget, isDue, type Trial, untried } from './trial.ts';

/** How many other addresses of a name are tried at once. */
const maxTried = 4;
const maxFailing = 10_000;

/**
 * Whether every address of the family that a check connected by takes connections (rule 44). A check
 * needs one; when it found another silent or refusing, now and then, and once one failed, the others
 * are tried as well. The check itself has just shown that the family works from here.
 */
export type AddressWatch = (
  context: CheckContext,
  port: number,
  seen: ReachSeen,
) => Promise<Warning | undefined>;

export function createAddressWatch(tryAddresses: Trial): AddressWatch {
  const failing = new Set<string>();
  return async (context, port, seen) => {
    const { monitor } = context.assignment;
    const used = usedAddress(seen, null) ?? '';
    const ofFamily = seen.addresses.filter((address) => isIP(address) === isIP(used));
    const others = ofFamily.filter((address) => address !== used);
    if (others.length === 0) {
      failing.delete(monitor);
      return undefined;
    }
    const missed = seen.attempts
      .filter(({ address, code }) => code !== null && others.includes(address))
      .map(({ address }) => address);
    if (missed.length === 0 && !failing.has(monitor) && !isDue(context)) return undefined;
    const tried = [...new Set([...missed, ...others])].slice(0, maxTried);
    const codes = await Promise.all(
      tried.map(async (address) => ({
        address,
        code: await tryAddresses(context, [address], port),
      })),
    );
    const dead = codes.find(({ code }) => codesOfTarget.includes(code));
    if (dead === undefined) {
      if (codes.every(({ code }) => code !== untried)) failing.delete(monitor);
      return undefined;
    }
    if (failing.size < maxFailing) failing.add(monitor);
    return {
      code: 'one_address_fails',
      details: { address: dead.address, addresses: ofFamily.length },
    };
  };
}
