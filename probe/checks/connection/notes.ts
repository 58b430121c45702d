import { withPort } from '../../../shared/base/network.ts';
import { hashOf } from '../../../shared/checks/assignment.ts';
import { issuerName } from '../../../shared/checks/connection/issuer.ts';
import {
  type CertificateNote,
  maxServedAddresses,
  type ServedNote,
  type Verdict,
} from '../../../shared/checks/result.ts';
import type { CheckContext } from '../types.ts';
import { createAddressWatch } from './addresses.ts';
import { clean } from './evidence.ts';
import { createFamilyWatch } from './families.ts';
import type { ReachSeen, TlsSeen } from './observation.ts';
import type { ConnectionDependencies, Endpoint } from './reach.ts';
import { createTrial } from './trial.ts';

/**
 * Adds to the verdict of a check that passed what is known beside it: which certificate the server
 * has, by what it was served, and whether its other addresses answer. One for all checks of a kind.
 */
export type Notes = (
  verdict: Verdict,
  context: CheckContext,
  /** The monitor's own name: only that is tried, and not where its owner chose a family. */
  endpoint: Endpoint,
  seen: ReachSeen,
  handshakes: readonly (TlsSeen | null)[],
  /** Where redirects were followed, or a server said what it is. */
  answer?: AnswerSeen,
) => Promise<Verdict>;

type AnswerSeen = {
  /** Of the hosts that it was redirected to. */
  readonly addresses: readonly string[];
  readonly server: string | null;
  readonly redirect: string | null;
};

export function createNotes(dependencies: ConnectionDependencies): Notes {
  const certificateOf = createCertificateNotes();
  const servedBy = createServedNotes();
  const tryAddresses = createTrial(dependencies);
  const otherFamily = createFamilyWatch(dependencies.families, tryAddresses);
  const otherAddresses = createAddressWatch(tryAddresses);
  return async (verdict, context, endpoint, seen, handshakes, answer) => {
    if (verdict.outcome !== 'ok') return verdict;
    const { started_at, assignment } = context;
    const certificate = certificateOf(assignment.monitor, started_at, handshakes);
    const { addresses, ...said } = answer ?? { addresses: [], server: null, redirect: null };
    const own = seen.addresses.map((address) => withPort(address, endpoint.port));
    const all = [...new Set([...own, ...addresses])].toSorted().slice(0, maxServedAddresses);
    const served = servedBy(assignment.monitor, started_at, { addresses: all, ...said });
    const noted = {
      ...verdict,
      ...(certificate && { certificate }),
      ...(served && { served }),
    };
    const found = await Promise.all([
      endpoint.ip_family === 'any' ? otherFamily(context, endpoint, seen) : undefined,
      otherAddresses(context, endpoint.port, seen),
    ]);
    const warnings = [...(noted.warnings ?? []), ...found.filter((one) => one !== undefined)];
    return warnings.length > 0 ? { ...noted, warnings } : noted;
  };
}

/**
 * Says which certificate a monitor has: once when it is new, and once a day. Each result that says
 * so costs the coordinator more than a plain pass, so each monitor has a time of the day of its own.
 */
export function createCertificateNotes() {
  const told = createDaily<number>();
  return (
    monitor: string,
    now: number,
    handshakes: readonly (TlsSeen | null)[],
  ): CertificateNote | undefined => {
    const tls = handshakes.find((one) => one !== null);
    const ends_at = tls?.valid_to ?? null;
    if (!tls || ends_at === null) return undefined;
    if (told.today(monitor, now)?.value === ends_at) return undefined;
    const [leaf] = tls.chain();
    if (!leaf) return undefined;
    told.tell(monitor, now, ends_at);
    const { fingerprint, issuer } = leaf;
    return {
      fingerprint,
      starts_at: tls.valid_from ?? ends_at,
      ends_at,
      issuer: clean(issuerName(issuer)),
    };
  };
}

/** Says by what a monitor is served: once a day, and when it changed, at most once an hour. */
function createServedNotes() {
  const told = createDaily<string>();
  return (monitor: string, now: number, served: ServedNote): ServedNote | undefined => {
    const value = JSON.stringify(served);
    const last = told.today(monitor, now);
    if (last && (last.value === value || now - last.at < changesMs)) return undefined;
    told.tell(monitor, now, value);
    return served;
  };
}

/** Addresses of a name that are given out in turn would be told with every check. */
const changesMs = 3_600_000;

type Told<Value> = { readonly day: number; readonly at: number; readonly value: Value };

/** What was told of each monitor in its present day. */
function createDaily<Value>() {
  const told = new Map<string, Told<Value>>();
  let today = 0;
  const forgetDeleted = (now: number) => {
    const day = Math.floor(now / dayMs);
    if (day === today) return;
    today = day;
    for (const [monitor, note] of told) if (note.day !== dayOf(monitor, now)) told.delete(monitor);
  };
  return {
    today: (monitor: string, now: number): Told<Value> | undefined => {
      forgetDeleted(now);
      const last = told.get(monitor);
      return last?.day === dayOf(monitor, now) ? last : undefined;
    },
    tell: (monitor: string, at: number, value: Value) => {
      told.set(monitor, { day: dayOf(monitor, at), at, value });
    },
  };
}

const dayMs = 86_400_000;

/** Which day it is for a monitor: each one's begins at another time. */
function dayOf(monitor: string, at: number): number {
  return Math.floor((at + (hashOf(monitor) % dayMs)) / dayMs);
}
