import type { Layer } from '../../shared/checks/result.ts';

/** What is known already keeps the outages that still share it, and takes those that do now. */
export function keepCauses(
  known: readonly KnownCause[],
  failing: readonly Failing[],
): { readonly kept: readonly KeptCause[]; readonly left: readonly Failing[] } {
  const kept = known.map((cause) => membersNow(cause, failing));
  const explained = new Set(kept.flatMap(({ members }) => members));
  return { kept, left: failing.filter(({ incident }) => !explained.has(incident)) };
}

/** A cause that was found before and has not ended. */
export type KnownCause = Share & {
  readonly id: string;
  readonly began_at: number;
  readonly manners: readonly string[];
  /** Whether at least half of all that ever were its members still fail: else nothing joins it. */
  readonly grows: boolean;
  /** Those of the failing ones that it had before. */
  readonly members: readonly string[];
};

type KeptCause = { readonly id: string; readonly members: readonly string[] };

/** A member leaves when its outage ends or is another one; what fails alike joins. */
function membersNow(
  { id, began_at, manners, grows, members, ...share }: KnownCause,
  failing: readonly Failing[],
) {
  const key = keyOf(share);
  const before = new Set(members);
  return {
    id,
    members: failing
      .filter(
        ({ incident, layer, manner, failed_at, shares }) =>
          canFail(share.kind, layer) &&
          shares.some((one) => keyOf(one) === key) &&
          (before.has(incident) ||
            (grows && manners.includes(manner) && failed_at + slackMs >= began_at)),
      )
      .map(({ incident }) => incident),
  };
}

/** Whether any of them share something and began together, whatever passes. */
export function mayShareCause(failing: readonly Failing[]): boolean {
  return sharedAmong(failing, []).some(
    (shared) => togetherOf(shared, leastSuspected) !== undefined,
  );
}

/**
 * The outages that may have a common cause, of which too little is known yet: at least two share
 * something and began together. `toAsk`: some of what shares it and has not been checked since,
 * which shows whether it is one (rule 51).
 */
export function suspectCauses<One extends Passing>(
  failing: readonly Failing[],
  passing: readonly One[],
): { readonly incidents: ReadonlySet<string>; readonly toAsk: readonly One[] } {
  const suspicions = sharedAmong(failing, passing)
    .flatMap((shared) => suspicionOf(shared))
    .toSorted((one, other) => narrower(one.share, other.share));
  return {
    incidents: new Set(suspicions.flatMap(({ members }) => members)),
    toAsk: [...new Set(suspicions.flatMap(({ unknown }) => evenly(unknown)))].slice(0, mostAsked),
  };
}

/**
 * Finds what outages that began together have in common (rules 48 to 50). It judges only by what
 * checks saw: what failing monitors share, and whether monitors that pass share it too. It names no
 * cause where that is not enough.
 */
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
  block_page: ['http'],
  server: ['http'],
  issuer: ['tls'],
  zone: ['dns'],
  name_server: ['dns'],
  place: ['dns', 'tcp', 'tls', 'timeout', 'http'],
  network: ['dns', 'tcp', 'tls', 'timeout', 'http'],
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
  /** Whether it was asked because others failed: then it stands for those that were not. */
  readonly asked?: boolean;
};

export type Passing = {
  /** The start of its newest check. */
  readonly passed_at: number;
  readonly shares: readonly Share[];
  readonly asked?: boolean;
};

export type FoundCause = Share & {
  /** Incidents, in the order in which they began. */
  readonly members: readonly string[];
  readonly manners: readonly string[];
  /** After the last pass of those that failed first, and before their first failure. */
  readonly began_at: number;
  /** How many that share it have passed since it began. */
  readonly passing: number;
  /** Of those that do not share it: how many fail, too, and how many there are. */
  readonly others: { readonly failing: number; readonly all: number };
};

/** Two that fail together are a reason to look at what else shares it. */
const leastSuspected = 2;
/** Fewer than three may fail together by chance. */
export const leastMembers = 3;
/** Of those that share a cause, this part fails at least. */
const leastPart = 0.8;
/** How much more likely it must be than chance: a thousand times. */
const leastEvidence = Math.log(1_000);
/** By how much the clocks of two probes may differ. */
const slackMs = 5_000;

/** So many that were asked stand for all that share it. */
const leastAsked = 10;
/** No suspicion asks more. */
const mostAsked = 50;

/** Something that failing monitors share and that can explain how they fail. */
type Shared<One extends Passing = Passing> = {
  readonly share: Share;
  readonly failing: Failing[];
  readonly passing: One[];
};

type Candidate = {
  readonly share: Share;
  readonly members: readonly Failing[];
  readonly began_at: number;
  /** How many that share it have passed since. */
  readonly passing: number;
  /** All that share it. */
  readonly sharing: { readonly failing: number; readonly all: number };
};

function strongest(
  failing: readonly Failing[],
  passing: readonly Passing[],
): FoundCause | undefined {
  if (failing.length < leastMembers) return undefined;
  const candidates = sharedAmong(failing, passing).flatMap(candidateOf);
  const explained = new Set(candidates.flatMap(({ members }) => members));
  const all = failing.length + passing.length;
  // How often a monitor fails at that time for a reason of its own.
  const chance = (failing.length - explained.size + 1) / (all + 2);
  const [best] = candidates
    .map((candidate) => ({ ...candidate, evidence: evidenceFor(candidate, chance) }))
    .filter(({ evidence }) => evidence >= leastEvidence)
    .toSorted((one, other) => other.evidence - one.evidence || narrower(one.share, other.share));
  if (best === undefined) return undefined;
  const { share, members, began_at, passing: against, sharing } = best;
  return {
    ...share,
    members: members.map(({ incident }) => incident),
    manners: [...new Set(members.map(({ manner }) => manner))],
    began_at,
    passing: against,
    others: { failing: failing.length - sharing.failing, all: all - sharing.all },
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

function sharedAmong<One extends Passing>(
  failing: readonly Failing[],
  passing: readonly One[],
): Shared<One>[] {
  const shared = new Map<string, Shared<One>>();
  for (const one of failing)
    for (const share of one.shares) {
      if (!canFail(share.kind, one.layer)) continue;
      const key = keyOf(share);
      const known = shared.get(key);
      if (known) known.failing.push(one);
      else shared.set(key, { share, failing: [one], passing: [] });
    }
  for (const one of passing)
    for (const share of one.shares) shared.get(keyOf(share))?.passing.push(one);
  return [...shared.values()];
}

function canFail(kind: ShareKind, layer: Layer): boolean {
  const layers: readonly Layer[] = kinds[kind];
  return layers.includes(layer);
}

function keyOf({ kind, value }: Share): string {
  return `${kind} ${value}`;
}

function candidateOf(of: Shared): Candidate[] {
  const together = togetherOf(of, leastMembers);
  if (together === undefined) return [];
  const { members, passing, unknown } = together;
  const askedPassing = of.passing.filter(({ asked }) => asked).length;
  const askedFailing = members.filter(({ asked }) => asked).length;
  const isShown =
    // Who was not checked since says nothing: most must have been, or of those that were asked most fail.
    members.length + passing > unknown.length ||
    (askedFailing >= leastAsked && askedFailing >= leastPart * (askedFailing + askedPassing));
  return isShown && members.length >= leastPart * (members.length + passing)
    ? [
        {
          ...{ share: of.share, members, began_at: together.began_at, passing },
          sharing: { failing: of.failing.length, all: of.failing.length + of.passing.length },
        },
      ]
    : [];
}

/** Two that share something others share too, which were not checked since. */
function suspicionOf<One extends Passing>(of: Shared<One>) {
  const together = togetherOf(of, leastSuspected);
  if (together === undefined) return [];
  const { members, passing, unknown } = together;
  const isOpen = unknown.length > 0 && members.length + unknown.length >= leastMembers;
  return isOpen && members.length >= leastPart * (members.length + passing)
    ? [{ share: of.share, members: members.map(({ incident }) => incident), unknown }]
    : [];
}

/** Those of what fails alike that began at one moment, if that are enough, and what passes. */
function togetherOf<One extends Passing>(of: Shared<One>, least: number) {
  const alike = [...Map.groupBy(of.failing, ({ manner }) => manner).values()]
    .filter((some) => some.length >= least)
    .flat();
  const began = beginningOf(alike, least);
  if (began === undefined) return undefined;
  // Those that began before are outages of their own; those that began after have joined.
  const members = alike
    .filter(({ failed_at }) => failed_at + slackMs >= began)
    .toSorted((one, other) => one.failed_at - other.failed_at);
  const unknown = of.passing.filter(({ passed_at }) => passed_at <= began + slackMs);
  return { members, began_at: began, passing: of.passing.length - unknown.length, unknown };
}

/** Some of them, from the first to the last. */
function evenly<One>(all: readonly One[]): One[] {
  const step = Math.max(1, Math.ceil(all.length / mostAsked));
  return all.filter((_, nth) => nth % step === 0);
}

/** The moment at which most of them may have begun, if at least so many may. */
function beginningOf(failing: readonly Failing[], least: number): number | undefined {
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
  return most < least ? undefined : began + slackMs;
}
