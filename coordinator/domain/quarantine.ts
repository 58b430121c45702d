/**
 * Whether a probe can be trusted (rule 16): sick when a large share of what it checks, counted by distinct targets, fails for it
 * alone while other continents pass; well again after a run of shadow checks that agree with the others.
 *
 * Modes: trusted (sick_since null) → quarantined (sick_since set; what it sees is kept as a shadow only) → trusted.
 */
export type Trust = {
  /** Targets that its newest check found failing and others refuted, and until when that counts. */
  readonly refuted: ReadonlyMap<string, number>;
  readonly sick_since: number | null;
  /** Shadow checks in a row that agreed, and the distinct targets among them. */
  readonly clean: number;
  readonly cleanTargets: readonly string[];
};

/** One check, and what the other continents say of the same target. `turn_ms`: how long a turn at it takes, after which it is checked again. */
export type Shown = {
  readonly target: string;
  readonly at: number;
  readonly ok: boolean;
  readonly others: 'pass' | 'fail' | 'nothing';
  readonly turn_ms: number;
};

export const trusting: Trust = { refuted: new Map(), sick_since: null, clean: 0, cleanTargets: [] };

/** A refuted failure counts so long, and where turns are longer for two of them, like a view: targets that are checked seldom count as much. */
const memory = 600_000;
const fewestTargets = 3;
const largeShare = 0.4;
/** What silences all that is seen of a continent needs as much of it, or so many targets. */
const largeShareOfOnly = 0.5;
const manyTargets = 20;
const cleanRun = 20;

const remember = (refuted: Trust['refuted'], { target, at, ok, others, turn_ms }: Shown): Trust['refuted'] => {
  const wrong = !ok && others === 'pass';
  const isOpen = !ok && others === 'nothing';
  if (isOpen || (!wrong && !refuted.has(target))) return refuted;
  const next = new Map([...refuted].filter(([other, until]) => other !== target && until > at));
  return wrong ? next.set(target, at + Math.max(memory, 2 * turn_ms)) : next;
};

const shadow = (trust: Trust, { target, ok, others }: Shown, targets: number): Trust => {
  // Where others fail it proves nothing: whoever fails everything agrees with them, and if it passes, who is right is not known.
  if (others !== 'pass') return trust;
  if (!ok) return { ...trust, clean: 0, cleanTargets: [] };
  const clean = trust.clean + 1;
  const isNew = trust.cleanTargets.length < fewestTargets && !trust.cleanTargets.includes(target);
  const cleanTargets = isNew ? [...trust.cleanTargets, target] : trust.cleanTargets;
  // A run is clean when it is long enough and was seen on several targets, or on all that the probe has.
  const isOver = clean >= cleanRun && cleanTargets.length >= Math.min(fewestTargets, targets);
  return isOver ? trusting : { ...trust, clean, cleanTargets };
};

/** How many distinct targets a probe checks, and whether nobody else of its continent is there to see them. */
type Known = { readonly targets: number; readonly isOnly: boolean };
/** `isAll`: nobody else knows more of the probe; else it is judged once all that is known has been put together. */
export type Observed = Known & { readonly isAll: boolean };

const isLarge = (refuted: number, { targets, isOnly }: Known): boolean =>
  refuted >= fewestTargets &&
  refuted >= targets * largeShare &&
  (!isOnly || refuted >= manyTargets || refuted >= targets * largeShareOfOnly);

const sickSince = (sick_since: number): Trust => ({ ...trusting, sick_since });

/**
 * The trust after one more check of a probe. It falls and returns by itself: `sick_since` tells.
 * A pass of a target that it had right before changes nothing and costs nothing.
 */
export const observe = (trust: Trust, shown: Shown, observed: Observed): Trust => {
  if (trust.sick_since !== null) return shown.at < trust.sick_since ? trust : shadow(trust, shown, observed.targets);
  const refuted = remember(trust.refuted, shown);
  if (refuted === trust.refuted) return trust;
  return observed.isAll && isLarge(refuted.size, observed) ? sickSince(shown.at) : { ...trust, refuted };
};

/** The trust in a probe of which several know something, by what they know together. */
export const judge = (trust: Trust, now: number, { refuted, ...known }: Known & { readonly refuted: number }): Trust =>
  trust.sick_since === null && isLarge(refuted, known) ? sickSince(now) : trust;

/**
 * What is believed of a probe, given what is written down of it: every coordinator judges, and whoever goes on after the one that
 * quarantined a probe must be able to let it return.
 */
export const asWritten = (known: Trust | undefined, quarantined_at: number | null): Trust => {
  if (known && (known.sick_since === null) === (quarantined_at === null)) return known;
  return quarantined_at === null ? trusting : { ...trusting, sick_since: quarantined_at };
};
