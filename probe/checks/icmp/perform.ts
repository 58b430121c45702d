import { isIP } from 'node:net';
import pLimit, { type LimitFunction } from 'p-limit';
import { hostIn } from '../../../shared/checks/connection/config.ts';
import { answerMs, icmpSettings, packetEveryMs } from '../../../shared/checks/icmp/config.ts';
import { hasFamily } from '../connection/connect.ts';
import { ownCodes } from '../connection/observation.ts';
import { type ConnectionDependencies, findAddresses } from '../connection/reach.ts';
import type { Check } from '../types.ts';
import type { Ping } from './ping.ts';
import { type IcmpObservation, judgeIcmp } from './verdict.ts';

export type IcmpDependencies = Omit<ConnectionDependencies, 'trust'> & { readonly ping: Ping };

/** Of an organisation: each is a process, and its silent hosts hold up only its own checks. */
const atOnce = 16;

/** Performs the check: finds the address, asks the guard, and sends the echo requests. */
export function createIcmpCheck(dependencies: IcmpDependencies): Check {
  const limits = new Map<string, LimitFunction>();
  const inTurn = async <Made>(organisation: string, work: () => Promise<Made>): Promise<Made> => {
    const limit = limits.get(organisation) ?? pLimit(atOnce);
    limits.set(organisation, limit);
    try {
      return await limit(work);
    } finally {
      if (limit.activeCount + limit.pendingCount === 0) limits.delete(organisation);
    }
  };
  return async (context) => {
    const { assignment, deadline, guard, evidence_wanted } = context;
    const host = hostIn(assignment.target);
    if (host === undefined) throw new Error('The target of an icmp check is not a host');
    const settings = icmpSettings(assignment.config);
    const began = performance.now();
    deadline.listenInSteps();
    const found = await findAddresses(host, settings.ip_family, dependencies, context);
    const dns_ms = isIP(host) === 0 ? performance.now() - began : null;
    const judge = (
      seen: Pick<IcmpObservation, 'failure'> & Partial<IcmpObservation>,
    ): ReturnType<typeof judgeIcmp> =>
      judgeIcmp(
        settings,
        {
          at: context.started_at,
          limit_ms: assignment.timeout_ms,
          addresses: [],
          by: null,
          address: null,
          echoes: undefined,
          dns_ms,
          ...seen,
        },
        evidence_wanted,
      );
    if ('code' in found) return judge({ failure: { phase: 'dns', code: found.code } });
    const { addresses, by = null, second } = found;
    second?.end();
    // One address that is not public refuses all, as for every kind; echoes have no port.
    if (!addresses.every((address) => guard.allows(address, 0))) {
      const isOwnLimit = guard.isOwnLimit(addresses, assignment);
      const code = isOwnLimit ? ownCodes.ownLimit : ownCodes.notPublic;
      return judge({ addresses, by, failure: { phase: 'tcp', code } });
    }
    const families = dependencies.families();
    const address = addresses.find((one) => hasFamily(one, families));
    if (address === undefined)
      return judge({ addresses, by, failure: { phase: 'tcp', code: ownCodes.noFamily } });
    // What a turn that came late cuts off says nothing of the host.
    const hasTime = (): boolean =>
      deadline.due - performance.now() > settings.packets * packetEveryMs + answerMs;
    const hadTime = hasTime();
    const echoes = await inTurn(assignment.organisation, async () =>
      hadTime && !hasTime() ? undefined : dependencies.ping(address, settings.packets, deadline),
    );
    return judge({ addresses, by, address, echoes, failure: null });
  };
}
