import { hashOf } from '../../../shared/checks/assignment.ts';
import type { CertificateNote, Verdict } from '../../../shared/checks/result.ts';
import type { CheckContext } from '../types.ts';
import { createAddressWatch } from './addresses.ts';
import { clean } from './evidence.ts';
import { createFamilyWatch } from './families.ts';
import type { ReachSeen, TlsSeen } from './observation.ts';
import type { ConnectionDependencies, Endpoint } from './reach.ts';
import { createTrial } from './trial.ts';

/**
 * Adds to the verdict of a check that passed what is known beside it: which certificate the server
 * has, and whether its other addresses answer. One for all checks of a kind.
 */
export type Notes = (
  verdict: Verdict,
  context: CheckContext,
  /** The monitor's own name: only that is tried, and not where its owner chose a family. */
  endpoint: Endpoint,
  seen: ReachSeen,
  handshakes: readonly (TlsSeen | null)[],
) => Promise<Verdict>;

export function createNotes(dependencies: ConnectionDependencies): Notes {
  const certificateOf = createCertificateNotes();
  const tryAddresses = createTrial(dependencies);
  const otherFamily = createFamilyWatch(dependencies.families, tryAddresses);
  const otherAddresses = createAddressWatch(tryAddresses);
  return async (verdict, context, endpoint, seen, handshakes) => {
    if (verdict.outcome !== 'ok') return verdict;
    const { started_at, assignment } = context;
    const certificate = certificateOf(assignment.monitor, started_at, handshakes);
    const noted = certificate ? { ...verdict, certificate } : verdict;
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
  const told = new Map<string, { readonly day: number; readonly ends_at: number }>();
  let today = 0;
  const forgetDeleted = (now: number) => {
    const day = Math.floor(now / dayMs);
    if (day === today) return;
    today = day;
    for (const [monitor, note] of told) if (note.day !== dayOf(monitor, now)) told.delete(monitor);
  };
  return (
    monitor: string,
    now: number,
    handshakes: readonly (TlsSeen | null)[],
  ): CertificateNote | undefined => {
    const tls = handshakes.find((one) => one !== null);
    const ends_at = tls?.valid_to ?? null;
    if (!tls || ends_at === null) return undefined;
    forgetDeleted(now);
    const day = dayOf(monitor, now);
    const last = told.get(monitor);
    if (last?.day === day && last.ends_at === ends_at) return undefined;
    const [leaf] = tls.chain();
    if (!leaf) return undefined;
    told.set(monitor, { day, ends_at });
    const { fingerprint, issuer } = leaf;
    return {
      fingerprint,
      starts_at: tls.valid_from ?? ends_at,
      ends_at,
      issuer: clean(nameIn(issuer)).slice(0, 100).toWellFormed(),
    };
  };
}

const dayMs = 86_400_000;

/** Which day it is for a monitor: each one's begins at another time. */
function dayOf(monitor: string, at: number): number {
  return Math.floor((at + (hashOf(monitor) % dayMs)) / dayMs);
}

/** The organisation in a distinguished name, else its common name, else all of it. */
function nameIn(distinguished: string): string {
  return (
    /(?:^|, )O=(.+?)(?:, [A-Z]+=|$)/.exec(distinguished)?.[1] ??
    /(?:^|, )CN=(.+?)(?:, [A-Z]+=|$)/.exec(distinguished)?.[1] ??
    distinguished
  );
}
