import type { Layer } from '../../shared/checks/result.ts';

/**
 * Finds what outages that began together have in common (rules 48 to 50). It judges only by what
 * checks saw: what failing monitors share, and whether monitors that pass share it too. It names no
 * cause where that is not enough. What is known already keeps the outages that still share it.
 */
export function decideCauses(
  known: readonly KnownCause[],
  failing: readonly Failing[],
  passing: readonly Passing[],
): { readonly kept: readonly KeptCause[]; readonly found: readonly FoundCause[] } {
  const kept = known.map((cause) => membersNow(cause, failing));
  const explained = new Set(kept.flatMap(({ members }) => members));
  const left = failing.filter(({ incident }) => !explained.has(incident));
  return { kept, found: findCauses(left, passing) };
}

/** A cause that was found before and has not ended. */
export type KnownCause = Share & {
  readonly id: string;
  readonly began_at: number;
  readonly members: readonly string[];
};

/** It has ended when no member is left. */
export type KeptCause = { readonly id: string; readonly members: readonly string[] };

/** A member leaves when its outage ends or is another one; what fails alike joins. */
function membersNow({ id, began_at, members, ...share }: KnownCause, failing: readonly Failing[]) {
  const key = keyOf(share);
  const sharing = failing.filter(
    ({ layer, shares }) => canFail(share.kind, layer) && shares.some((one) => keyOf(one) === key),
  );
  const before = new Set(members);
  const manners = new Set(
    sharing.filter(({ incident }) => before.has(incident)).map(({ manner }) => manner),
  );
  return {
    id,
    members: sharing
      .filter(
        ({ incident, manner, failed_at }) =>
          before.has(incident) || (manners.has(manner) && failed_at + slackMs >= began_at),
      )
      .map(({ incident }) => incident),
  };
}

export function findCauses(failing: readonly Failing[], passing: readonly Passing[]): FoundCause[] {
  const found: FoundCause[] = [];
  let left = failing;
  for (;;) {
    const best = strongest(left, passing);
    if (best === undefined) return found;
    found.push(best);
    const members = new Set(best.members);
    left = left.filter(({ incident }) => !members.has(incident));
  }
}

/**
 * What monitors can share, from the narrowest to the widest, and the layers in which it can make a
 * check fail.
 */
const kinds = {
  certificate: ['tls'],
  address: ['tcp', 'tls', 'timeout', 'http', 'assertion'],
  redirect: ['dns', 'tcp', 'tls', 'timeout', 'http', 'assertion'],
  server: ['http'],
  issuer: ['tls'],
  zone: ['dns'],
  name_server: ['dns'],
  place: ['dns', 'tcp', 'tls', 'timeout', 'http'],
} as const satisfies Record<string, readonly Layer[]>;

export type ShareKind = keyof typeof kinds;

const shareKinds = Object.keys(kinds).filter(isShareKind);

export function isShareKind(text: string): text is ShareKind {
  return Object.hasOwn(kinds, text);
}

export type Share = { readonly kind: ShareKind; readonly value: string };

/** A confirmed outage that goes on. */
export type Failing = {
  readonly incident: string;
  /** The start of the last check that passed, and of the first that failed: it began in between. */
  readonly passed_at: number;
  readonly failed_at: number;
  readonly layer: Layer;
  /** How it fails. One cause makes all its members fail alike. */
  readonly manner: string;
  readonly shares: readonly Share[];
};

export type Passing = {
  /** The start of its newest check. */
  readonly passed_at: number;
  readonly shares: readonly Share[];
};

export type FoundCause = Share & {
  /** Incidents, in the order in which they began. */
  readonly members: readonly string[];
  /** After the last pass of those that failed first, and before their first failure. */
  readonly began_at: number;
  /** How many that share it have passed since it began. */
  readonly passing: number;
  /** Of those that do not share it: how many fail, too, and how many there are. */
  readonly others: { readonly failing: number; readonly all: number };
};

/** Fewer than three may fail together by chance. */
export const leastMembers = 3;
/** Of those that share a cause, this part fails at least. */
const leastPart = 0.8;
/** How much more likely it must be than chance: a thousand times. */
const leastEvidence = Math.log(1_000);
/** By how much the clocks of two probes may differ. */
const slackMs = 5_000;

type Candidate = {
  readonly share: Share;
  readonly members: readonly Failing[];
  readonly began_at: number;
  readonly passing: number;
};

function strongest(
  failing: readonly Failing[],
  passing: readonly Passing[],
): FoundCause | undefined {
  if (failing.length < leastMembers) return undefined;
  const candidates = candidatesAmong(failing, passing);
  const explained = new Set(candidates.flatMap(({ members }) => members));
  const all = failing.length + passing.length;
  // How often a monitor fails at that time for a reason of its own.
  const chance = (failing.length - explained.size + 1) / (all + 2);
  const [best] = candidates
    .map((candidate) => ({ ...candidate, evidence: evidenceFor(candidate, chance) }))
    .filter(({ evidence }) => evidence >= leastEvidence)
    .toSorted((one, other) => other.evidence - one.evidence || narrower(one.share, other.share));
  if (best === undefined) return undefined;
  const { share, members, began_at, passing: against } = best;
  const others = all - members.length - against;
  return {
    ...share,
    members: members.map(({ incident }) => incident),
    began_at,
    passing: against,
    others: { failing: failing.length - members.length, all: others },
  };
}

/** How much better it explains who fails and who passes than chance does, as a logarithm. */
function evidenceFor({ members, passing }: Candidate, chance: number): number {
  const part = members.length / (members.length + passing);
  const against = passing === 0 ? 0 : passing * Math.log((1 - part) / (1 - chance));
  return members.length * Math.log(part / chance) + against;
}

function narrower(one: Share, other: Share): number {
  return (
    shareKinds.indexOf(one.kind) - shareKinds.indexOf(other.kind) ||
    other.value.length - one.value.length ||
    (one.value < other.value ? -1 : 1)
  );
}

function candidatesAmong(
  failing: readonly Failing[],
  passing: readonly Passing[],
): readonly Candidate[] {
  const sharing = new Map<string, { share: Share; failing: Failing[]; passing: Passing[] }>();
  for (const one of failing)
    for (const share of one.shares) {
      if (!canFail(share.kind, one.layer)) continue;
      const key = keyOf(share);
      const known = sharing.get(key);
      if (known) known.failing.push(one);
      else sharing.set(key, { share, failing: [one], passing: [] });
    }
  for (const one of passing)
    for (const share of one.shares) sharing.get(keyOf(share))?.passing.push(one);
  return [...sharing.values()].flatMap(candidateOf);
}

function canFail(kind: ShareKind, layer: Layer): boolean {
  const layers: readonly Layer[] = kinds[kind];
  return layers.includes(layer);
}

function keyOf({ kind, value }: Share): string {
  return `${kind} ${value}`;
}

function candidateOf(of: {
  share: Share;
  failing: readonly Failing[];
  passing: readonly Passing[];
}): Candidate[] {
  const alike = [...Map.groupBy(of.failing, ({ manner }) => manner).values()]
    .filter((some) => some.length >= leastMembers)
    .flat();
  const began = beginningOf(alike);
  if (began === undefined) return [];
  // Those that began before are outages of their own; those that began after have joined.
  const members = alike
    .filter(({ failed_at }) => failed_at + slackMs >= began)
    .toSorted((one, other) => one.failed_at - other.failed_at);
  const passing = of.passing.filter(({ passed_at }) => passed_at > began + slackMs).length;
  const unknown = of.passing.length - passing;
  const isLikely =
    members.length >= leastPart * (members.length + passing) &&
    // Who was not checked since says nothing, and most must have been.
    members.length + passing > unknown;
  return isLikely ? [{ share: of.share, members, began_at: began, passing }] : [];
}

/** The moment at which most of them may have begun, if at least three may. */
function beginningOf(failing: readonly Failing[]): number | undefined {
  const edges = failing
    .flatMap(({ passed_at, failed_at }) => [
      { at: passed_at - slackMs, by: 1 },
      { at: failed_at + slackMs, by: -1 },
    ])
    .toSorted((one, other) => one.at - other.at || other.by - one.by);
  let [open, most, began] = [0, 0, 0];
  for (const { at, by } of edges) {
    open += by;
    if (open > most) [most, began] = [open, at];
  }
  return most < leastMembers ? undefined : began + slackMs;
}
