import { withPort } from '../../shared/base/network.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import { issuerName } from '../../shared/checks/connection/issuer.ts';
import type { Cause } from '../../shared/checks/result.ts';
import type { Failing, Passing, Share } from '../core/causes.ts';

/** What a monitor's settings say. */
type Settings = {
  readonly monitor: string;
  readonly type: string;
  readonly target: string;
  readonly interval_s: number;
  /** The server that a check of a name asks. */
  readonly resolver: string | null;
  /** How many places were chosen for it, and the private ones among them. */
  readonly chosen: number;
  readonly private_places: readonly PrivatePlace[];
};

type PrivatePlace = {
  readonly id: string;
  /** Where its probes' requests come from. */
  readonly addresses: readonly string[];
};

/** By what its newest passing check was served. */
export type PassingMonitor = Settings & {
  readonly organisation: string;
  /** Whether it fails somewhere, and nobody has confirmed or refuted that yet. */
  readonly verifying: boolean;
  readonly addresses: readonly string[];
  readonly server: string | null;
  readonly redirect: string | null;
  readonly fingerprint: string | null;
  readonly issuer: string | null;
};

/** What the failing check of one side saw. All but the addresses is text of a target. */
export type SeenFailure = {
  readonly url: string | null;
  /** All that were tried, without their port. */
  readonly tried: readonly string[];
  readonly status: number | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly fingerprint: string | null;
  readonly issuer: string | null;
  readonly hops: number;
};

export type FailingMonitor = Settings & {
  readonly organisation: string;
  readonly incident: string;
  readonly started_at: number;
  readonly cause: Cause;
  readonly seen: readonly SeenFailure[];
};

/** What it shares with others is what both sides of its evidence saw (rule 48). */
export function failingOf(monitor: FailingMonitor, asked: boolean): Failing {
  const { incident, started_at, cause, seen, interval_s } = monitor;
  const layer = causeLayer(cause);
  const sides = seen.map((side) => sharesSeen(monitor, side));
  const blocks = ['blocked_by_firewall', 'origin_unreachable'].includes(cause.class);
  const [first = [], ...others] = sides;
  const common = first.filter((share) =>
    others.every((side) => side.some((one) => isSame(one, share))),
  );
  return {
    incident,
    passed_at: started_at - interval_s * 1_000,
    failed_at: started_at,
    layer,
    manner: mannerOf(cause, seen[0]?.status ?? null),
    shares: [
      ...settled(monitor),
      ...shareOf('block_page', blocks ? String(cause.params.vendor) : null),
      ...common,
    ],
    asked,
  };
}

/** A monitor that is up was looked at within its interval. */
export function passingOf(
  monitor: PassingMonitor,
  asked: boolean,
  now: number,
): Passing & { readonly monitor: string } {
  const { addresses, server, redirect, fingerprint, issuer, interval_s, verifying } = monitor;
  return {
    passed_at: verifying ? 0 : now - interval_s * 1_000 - latestAnswerMs,
    shares: [
      ...settled(monitor),
      ...addresses.flatMap(addressShares),
      ...shareOf('server', server),
      ...shareOf('redirect', redirect),
      ...shareOf('certificate', fingerprint),
      ...shareOf('issuer', issuer),
    ],
    monitor: monitor.monitor,
    asked,
  };
}

/** By when a check is decided on after its turn, with the usual time limit. */
const latestAnswerMs = 15_000;

/** What its settings say. */
function settled({ type, target, resolver, chosen, private_places: places }: Settings): Share[] {
  const host = hostOf(type, target);
  const [first, ...others] = places.length === chosen ? places : [];
  const networks = (first?.addresses ?? []).filter((address) =>
    others.every(({ addresses }) => addresses.includes(address)),
  );
  return [
    ...(host === null ? [] : zonesOf(host)).map((value): Share => ({ kind: 'zone', value })),
    ...shareOf('name_server', resolver),
    ...shareOf('place', first !== undefined && others.length === 0 ? first.id : null),
    ...networks.map((value): Share => ({ kind: 'network', value })),
  ];
}

function sharesSeen({ type, target }: Settings, side: SeenFailure): Share[] {
  const own = hostOf(type, target);
  const there = URL.parse(side.url ?? '')?.hostname ?? own;
  const port = portOf(URL.parse(side.url ?? '') ?? URL.parse(withScheme(target)));
  const server = side.headers.find(([name]) => name === 'server')?.[1] ?? null;
  return [
    ...side.tried.map((one) => withPort(one, port)).flatMap(addressShares),
    ...shareOf('server', server),
    ...shareOf('redirect', side.hops > 1 && there !== own ? there : null),
    ...shareOf('certificate', side.fingerprint),
    ...shareOf('issuer', side.issuer === null ? null : issuerName(side.issuer)),
  ];
}

function shareOf(kind: Share['kind'], value: string | null): Share[] {
  return value === null || value === '' ? [] : [{ kind, value: value.slice(0, longestValue) }];
}

/** What a target sent is not trusted to be short. */
const longestValue = 300;

function isSame(one: Share, other: Share): boolean {
  return one.kind === other.kind && one.value === other.value;
}

/** The host of a target of any kind that has one; null of an address and of a job. */
function hostOf(type: string, target: string): string | null {
  if (type === 'heartbeat') return null;
  const host = URL.parse(withScheme(target))?.hostname ?? '';
  return /[a-z]/i.test(host) && !host.includes(':') ? host.toLowerCase().replace(/\.$/, '') : null;
}

function withScheme(target: string): string {
  return target.includes('://') ? target : `tcp://${target}`;
}

const usualPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'ws:': 80,
  'https:': 443,
  'wss:': 443,
  'grpcs:': 443,
};

function portOf(url: URL | null): number {
  return Number(url?.port || (usualPorts[url?.protocol ?? ''] ?? 0));
}

/** An address with its port, and the address alone. */
function addressShares(value: string): Share[] {
  const alone = value.slice(0, value.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
  return [
    { kind: 'address', value },
    { kind: 'address', value: alone },
  ];
}

/** Each name above a host, its own included, of two labels and more. */
function zonesOf(host: string): string[] {
  const labels = host.split('.');
  return labels.slice(0, -1).map((_, nth) => labels.slice(nth).join('.'));
}

/** How it fails, as far as all that fail by one cause do so alike. */
function mannerOf(cause: Cause, status: number | null): string {
  const layer = causeLayer(cause);
  if (layer === 'dns') return 'name';
  if (layer === 'tcp' || layer === 'timeout') return 'unreachable';
  if (layer === 'tls') return cause.class.startsWith('certificate_') ? cause.class : 'unreachable';
  return status === null ? cause.class : `${cause.class} ${status}`;
}
