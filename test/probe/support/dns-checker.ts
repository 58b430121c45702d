import { createDnsCheck, type DnsDependencies } from '../../../probe/checks/dns/perform.ts';
import type { UdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard } from '../../../probe/checks/guard.ts';
import type { CheckDeadline } from '../../../probe/checks/limits.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import { assignmentOf } from './assignment.ts';
import { deadlineIn } from './deadline-in.ts';

/** Loopback is where the tests' resolvers are, and what a probe's own host may allow. */
const loopback = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const strict = createGuard({ allow: [], bus: () => [], own: () => [] });
/** Another probe's host allows loopback. */
const beside = createGuard({
  ...{ allow: [], bus: () => [], own: () => [] },
  roster: () => ({
    epoch: 1,
    probes: [
      { id: 'a', name: 'a', continent: 'Asia', organisation: null, healthy: true, quarantined: false, allowed_cidrs: ['127.0.0.0/8'] },
    ],
  }),
});

type Asked = {
  readonly target: string;
  readonly config?: Config;
  readonly timeout_ms?: number;
  readonly public_only?: boolean;
  readonly others_may?: boolean;
  /** Ends the check from outside instead of its time limit. */
  readonly deadline?: CheckDeadline;
};

/** Performs whole DNS checks as a runner does. */
export const dnsChecker = (sockets: UdpSockets, parts: Omit<DnsDependencies, 'sockets'> = {}): ((asked: Asked) => Promise<Verdict>) => {
  const check = createDnsCheck({ sockets, ...parts });
  return ({ target, config = {}, timeout_ms = 5_000, public_only = false, others_may = false, deadline = deadlineIn(timeout_ms) }) =>
    check({
      assignment: assignmentOf(target, { kind: 'dns', timeout_ms, config }),
      started_at: Date.now(),
      deadline,
      evidence_wanted: true,
      guard: others_may ? beside : public_only ? strict : loopback,
      probe: { name: 'test', continent: 'Europe', base_url: 'http://127.0.0.1', version: '0' },
      clock: { now: () => Date.now() },
    });
};
