import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import {
  createLookup,
  type Families,
  type Lookup,
  type OwnResolver,
  ownFamilies,
} from '../../../probe/checks/connection/lookup.ts';
import type { ChecksProxy } from '../../../probe/checks/connection/proxy.ts';
import { createTrust } from '../../../probe/checks/connection/trust.ts';
import { createDnsCheck, type DnsDependencies } from '../../../probe/checks/dns/perform.ts';
import { createUdpSockets, type UdpSockets } from '../../../probe/checks/dns/sockets.ts';
import { createGrpcCheck } from '../../../probe/checks/grpc/perform.ts';
import { createGuard, type Endpoint, type Guard } from '../../../probe/checks/guard.ts';
import { createHttpsCheck } from '../../../probe/checks/https/perform.ts';
import type { RequestSigner } from '../../../probe/checks/https/signer.ts';
import { type BodyMemory, CheckDeadline } from '../../../probe/checks/limits.ts';
import { createTcpCheck } from '../../../probe/checks/tcp/perform.ts';
import { createTlsCheck } from '../../../probe/checks/tls/perform.ts';
import type { ProbeIdentity } from '../../../probe/checks/types.ts';
import { createWebsocketCheck } from '../../../probe/checks/websocket/perform.ts';
import { systemClock } from '../../../shared/base/time.ts';
import type { Assignment, Config } from '../../../shared/checks/assignment.ts';
import { causeSentence } from '../../../shared/checks/causes.ts';
import type { Verdict } from '../../../shared/checks/result.ts';
import { debianProgram } from '../../support/processes.ts';
import { probeIn, rosterOf } from '../../support/rosters.ts';

/** How the system's ping is started here; undefined where there is none. */
export const pingCommand = async (): Promise<readonly string[] | undefined> => {
  const program = await debianProgram('ping', ['iputils-ping', 'libcap2']);
  return (
    program && [
      ...Object.entries(program.env).map(([name, value]) => `${name}=${value}`),
      program.file,
    ]
  );
};

/** An https check of this target every second, or whatever a test makes of it. */
export const assignmentOf = (target: string, more: Partial<Assignment> = {}): Assignment => ({
  monitor: randomUUID(),
  organisation: randomUUID(),
  kind: 'https',
  target,
  interval_ms: 1_000,
  timeout_ms: 900,
  config: {},
  sealed: null,
  config_version: 1,
  ordinal: 1,
  continents: null,
  probe: null,
  ...more,
});

/** A deadline so many milliseconds from now. */
export const deadlineIn = (ms: number): CheckDeadline => {
  const now = performance.now();
  return new CheckDeadline(now, now + ms);
};

/** Loopback is where the tests' resolvers are, and what a probe's own host may allow. */
const loopback = createGuard({ allow: ['127.0.0.0/8'], bus: () => [], own: () => [] });
const strict = createGuard({ allow: [], bus: () => [], own: () => [] });
/** Another probe's host allows loopback. */
const beside = createGuard({
  allow: [],
  bus: () => [],
  own: () => [],
  roster: () => rosterOf(probeIn('Asia', 1, { allowed_cidrs: ['127.0.0.0/8'] })),
});

type Asked = {
  readonly target: string;
  readonly config?: Config;
  readonly timeout_ms?: number;
  readonly interval_ms?: number;
  readonly public_only?: boolean;
  readonly others_may?: boolean;
  /** Ends the check from outside instead of its time limit. */
  readonly deadline?: CheckDeadline;
};

/** Performs whole DNS checks as a runner does. */
export const dnsChecker = (
  sockets: UdpSockets,
  dependencies: Omit<DnsDependencies, 'sockets'> = {},
): ((asked: Asked) => Promise<Verdict>) => {
  const check = createDnsCheck({ sockets, ...dependencies });
  return ({
    target,
    config = {},
    timeout_ms = 5_000,
    interval_ms = 1_000,
    public_only = false,
    others_may = false,
    deadline = deadlineIn(timeout_ms),
  }) =>
    check({
      assignment: assignmentOf(target, { kind: 'dns', timeout_ms, interval_ms, config }),
      started_at: Date.now(),
      deadline,
      evidence_wanted: true,
      guard: others_may ? beside : public_only ? strict : loopback,
      probe: { name: 'test', continent: 'Europe', base_url: 'http://127.0.0.1', version: '0' },
      clock: { now: () => Date.now() },
    });
};

const testProbe: ProbeIdentity = {
  name: 'eu-1',
  continent: 'Europe',
  base_url: 'https://antipode.example',
  version: '1.0.0',
};

type CheckerOptions = {
  readonly allow?: readonly string[];
  readonly bus?: readonly Endpoint[];
  readonly authorities?: readonly string[];
  readonly lookup?: Lookup;
  /** What the probe's own resolver does for other names; it works unless a test says otherwise. */
  readonly resolver?: Pick<OwnResolver, 'works'>;
  readonly families?: Families;
  readonly guard?: Guard;
  readonly memory?: BodyMemory;
  readonly proxy?: ChecksProxy;
  /** Signs its requests, as a public probe does. */
  readonly sign?: RequestSigner;
};

const sockets = createUdpSockets();

type Checked = Verdict & { readonly sentence: string | null };

const byKind = {
  https: createHttpsCheck,
  tcp: createTcpCheck,
  tls: createTlsCheck,
  websocket: createWebsocketCheck,
  grpc: createGrpcCheck,
} as const;

/**
 * A check of a kind that connects as a probe performs it, for one target after the other; only what
 * is given differs from the real thing.
 */
export const checkerOf = (kind: keyof typeof byKind, options: CheckerOptions = {}) => {
  const families = () => options.families ?? ownFamilies();
  const check = byKind[kind]({
    lookup: options.lookup ?? createLookup({ families, sockets }),
    resolver: options.resolver ?? { works: async () => true },
    families,
    trust: createTrust(options.authorities),
    proxy: options.proxy,
    ...(options.memory ? { memory: options.memory } : {}),
  });
  const guard =
    options.guard ??
    createGuard({
      allow: options.allow ?? ['127.0.0.0/8', '::1/128'],
      bus: () => options.bus ?? [],
      own: () => [],
    });
  // The same for every check, as a probe's own.
  const probe = options.sign ? { ...testProbe, sign: options.sign } : testProbe;
  return async (
    target: string,
    config: Config = {},
    other: {
      timeout_ms?: number;
      interval_ms?: number;
      started_at?: number;
      deadline?: CheckDeadline;
      evidence_wanted?: boolean;
      /** Otherwise each check is of a monitor of its own. */
      monitor?: string;
    } = {},
  ): Promise<Checked> => {
    const timeout_ms = other.timeout_ms ?? 5_000;
    const verdict = await check({
      assignment: assignmentOf(target, {
        kind,
        timeout_ms,
        config,
        ...(other.interval_ms === undefined ? {} : { interval_ms: other.interval_ms }),
        ...(other.monitor === undefined ? {} : { monitor: other.monitor }),
      }),
      started_at: other.started_at ?? systemClock.now(),
      deadline: other.deadline ?? deadlineIn(timeout_ms),
      evidence_wanted: other.evidence_wanted ?? true,
      guard,
      probe,
      clock: systemClock,
    });
    return { ...verdict, sentence: verdict.cause && causeSentence(verdict.cause) };
  };
};

export const httpsChecker = (options: CheckerOptions = {}) => checkerOf('https', options);
