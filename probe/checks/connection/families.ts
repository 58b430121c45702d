import { isIP } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Warning } from '../../../shared/checks/result.ts';
import type { CheckContext } from '../types.ts';
import type { Families } from './lookup.ts';
import type { ReachSeen } from './observation.ts';
import type { Endpoint } from './reach.ts';
import { codesOfTarget, isDue, type Trial, untried } from './trial.ts';

/** How long ago this machine reached another host by a family, to believe it when one fails. */
const vouchedMs = 600_000;
const maxFailing = 10_000;

/**
 * Whether a name with addresses of both families answers by both (rule 44). A check connects by one;
 * now and then a check that passed tries the other as well, and, once it failed, every check does.
 */
export type FamilyWatch = (
  context: CheckContext,
  endpoint: Pick<Endpoint, 'host' | 'port'>,
  seen: ReachSeen,
) => Promise<Warning | undefined>;

type Seen = { readonly host: string; readonly at: number };

export function createFamilyWatch(families: () => Families, tryAddresses: Trial): FamilyWatch {
  const failing = new Set<string>();
  const never: Seen = { host: '', at: Number.NEGATIVE_INFINITY };
  /** The two hosts that were reached last: for any host, one of them is another. */
  const reached = { 4: [never, never], 6: [never, never] };

  const noteReached = (family: 4 | 6, host: string): void => {
    const [newest = never, other = never] = reached[family];
    const now = { host, at: performance.now() };
    reached[family] = newest.host === host ? [now, other] : [now, newest];
  };
  const isVouchedFor = (family: 4 | 6, host: string): boolean =>
    reached[family].some((seen) => seen.host !== host && performance.now() - seen.at < vouchedMs);

  return async (context, { host, port }, { addresses: all, outgoing }) => {
    const used = isIP(outgoing ?? '') === 6 ? 6 : 4;
    noteReached(used, host);
    const other = used === 4 ? 6 : 4;
    const addresses = all.filter((address) => isIP(address) === other);
    const { monitor } = context.assignment;
    if (
      outgoing === null ||
      addresses.length === 0 ||
      /(?:^|\.)localhost$/.test(host) ||
      !families()[other]
    ) {
      failing.delete(monitor);
      return undefined;
    }
    if (!isDue(context) && !failing.has(monitor)) return undefined;
    const code = await tryAddresses(context, addresses.slice(0, 2), port);
    if (code === '') noteReached(other, host);
    const warning = { code: 'one_family_fails', details: { family: String(other) } };
    if (code === untried) return failing.has(monitor) ? warning : undefined;
    if (!codesOfTarget.includes(code) || !isVouchedFor(other, host)) {
      failing.delete(monitor);
      return undefined;
    }
    if (failing.size < maxFailing) failing.add(monitor);
    return warning;
  };
}
