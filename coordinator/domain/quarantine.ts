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

/**
 * The trust after one more check of a probe that checks so many distinct targets. It falls and returns by itself: `sick_since` tells.
 * A pass of a target that it had right before changes nothing and costs nothing.
 */
export const observe = (trust: Trust, shown: Shown, targets: number): Trust => {
  if (trust.sick_since !== null) return shown.at < trust.sick_since ? trust : shadow(trust, shown, targets);
  const refuted = remember(trust.refuted, shown);
  if (refuted === trust.refuted) return trust;
  const isSick = refuted.size >= fewestTargets && refuted.size >= targets * largeShare;
  return isSick ? { refuted: new Map(), sick_since: shown.at, clean: 0, cleanTargets: [] } : { ...trust, refuted };
};

/**
 * What is believed of a probe, given what is written down of it: every coordinator judges, and whoever goes on after the one that
 * quarantined a probe must be able to let it return.
 */
export const asWritten = (known: Trust | undefined, quarantined_at: number | null): Trust => {
  if (known && (known.sick_since === null) === (quarantined_at === null)) return known;
  return quarantined_at === null ? trusting : { ...trusting, sick_since: quarantined_at };
};
