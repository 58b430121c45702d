import { createUdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGuard, type Endpoint, type Guard } from '../../../probe/checks/guard.ts';
import type { OwnResolver } from '../../../probe/checks/https/lookup.ts';
import { createLookup, type Families, type Lookup, ownFamilies } from '../../../probe/checks/https/lookup.ts';
import { createHttpsCheck } from '../../../probe/checks/https/perform.ts';
import { createTrust } from '../../../probe/checks/https/trust.ts';
import type { BodyMemory, CheckDeadline } from '../../../probe/checks/limits.ts';
import type { ProbeIdentity } from '../../../probe/checks/types.ts';
import { systemClock } from '../../../shared/base/time.ts';
import type { Config } from '../../../shared/checks/assignment.ts';
import { causeSentence } from '../../../shared/checks/causes.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import { assignmentOf } from './assignment.ts';
import { deadlineIn } from './deadline-in.ts';

const testProbe: ProbeIdentity = { name: 'eu-1', continent: 'Europe', base_url: 'https://antipode.example', version: '0.1.0' };

export type CheckerOptions = {
  readonly allow?: readonly string[];
  readonly bus?: readonly Endpoint[];
  readonly authorities?: readonly string[];
  readonly lookup?: Lookup;
  /** What the probe's own resolver does for other names; it works unless a test says otherwise. */
  readonly resolver?: Pick<OwnResolver, 'works'>;
  readonly families?: Families;
  readonly guard?: Guard;
  readonly memory?: BodyMemory;
};

const sockets = createUdpSockets();

export type Checked = Verdict & { readonly sentence: string | null };

/** An https check as a probe performs it, for one target after the other; only what is given differs from the real thing. */
export const httpsChecker = (options: CheckerOptions = {}) => {
  const families = () => options.families ?? ownFamilies();
  const check = createHttpsCheck({
    lookup: options.lookup ?? createLookup({ families, sockets }),
    resolver: options.resolver ?? { works: async () => true },
    families,
    trust: createTrust(options.authorities),
    ...(options.memory ? { memory: options.memory } : {}),
  });
  const guard =
    options.guard ?? createGuard({ allow: options.allow ?? ['127.0.0.0/8', '::1/128'], bus: () => options.bus ?? [], own: () => [] });
  return async (
    target: string,
    config: Config = {},
    other: { timeout_ms?: number; started_at?: number; deadline?: CheckDeadline; evidence_wanted?: boolean } = {},
  ): Promise<Checked> => {
    const timeout_ms = other.timeout_ms ?? 5_000;
    const verdict = await check({
      assignment: assignmentOf(target, { timeout_ms, config }),
      started_at: other.started_at ?? systemClock.now(),
      deadline: other.deadline ?? deadlineIn(timeout_ms),
      evidence_wanted: other.evidence_wanted ?? true,
      guard,
      probe: testProbe,
      clock: systemClock,
    });
    return { ...verdict, sentence: verdict.cause && causeSentence(verdict.cause) };
  };
};
