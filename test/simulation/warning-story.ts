import { decide } from '../../coordinator/core/decide.ts';
import { createState, restore } from '../../coordinator/core/lifecycle.ts';
import type { Effect, MonitorState, SeenResult, Watched } from '../../coordinator/core/types.ts';
import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import type { WarningCode } from '../../shared/checks/warnings.ts';
import { createChance } from './story.ts';

/**
 * The passes of one monitor, some of them with a warning, and what rule 44 says of them. The oracle
 * judges from all that was said; the core from what it holds.
 */

type Check = {
  readonly at: number;
  readonly continent: Continent;
  readonly is: 'warned' | 'clear' | 'failed';
  /** How near the end is, as this check saw it, where the warning is of an end. */
  readonly stage: number;
  /** The coordinator was started anew before it. */
  readonly restart: boolean;
};
type WarningStory = {
  readonly seed: number;
  readonly code: WarningCode;
  readonly places: readonly Continent[];
  readonly interval_ms: number;
  readonly checks: readonly Check[];
};

const epoch = 1_800_000_000_000;

/** Of certificates and domains: so many days before the end. */
const stages = [30, 14, 7, 1] as const;
const isOfEnd = (code: WarningCode): boolean =>
  code === 'certificate_expires' || code === 'domain_expires';

/** Of each end another number: whoever renewed, or has two servers, has several ends. */
const stageOf = (reached: number, renewals: number, isSecond: boolean): number =>
  (stages[reached] ?? 0) - renewals / 100 - (isSecond ? 0.5 : 0);

export const makeWarningStory = (seed: number): WarningStory => {
  const chance = createChance(seed);
  const places = continents.slice(0, chance.pick([1, 2, 3, 4]));
  const interval_ms = chance.pick([10, 60, 600]) * 1_000;
  const code = chance.pick<WarningCode>([
    'slow',
    'certificate_expires',
    'domain_expires',
    'one_family_fails',
  ]);
  const checks: Check[] = [];
  let isWarned = false;
  let lonely: Continent | undefined;
  let gone: Continent | undefined;
  let [reached, renewals] = [0, 0];
  const areTwo = chance.happens(0.3);
  for (let turn = 0; turn < 120; turn += 1) {
    const continent = places[turn % places.length] ?? 'Europe';
    if (chance.happens(0.06)) isWarned = !isWarned;
    if (chance.happens(0.08)) lonely = chance.happens(0.5) ? chance.pick([...places]) : undefined;
    if (chance.happens(0.05)) gone = chance.happens(0.5) ? chance.pick([...places]) : undefined;
    // The end comes nearer, or it was renewed and is far again; some notice later than others.
    if (chance.happens(0.08)) reached = Math.min(reached + 1, stages.length - 1);
    if (chance.happens(0.02)) [reached, renewals] = [0, renewals + 1];
    const seen = chance.happens(0.15) ? Math.max(0, reached - 1) : reached;
    const noise = code === 'slow' ? 0.25 : 0.03;
    const sees = (isWarned || lonely === continent) !== chance.happens(noise);
    const late = chance.happens(0.05) ? chance.between(1, 3) * places.length * interval_ms : 0;
    if (gone === continent) continue;
    checks.push({
      at: epoch + turn * interval_ms - late,
      continent,
      is: chance.happens(0.05) ? 'failed' : sees ? 'warned' : 'clear',
      stage: isOfEnd(code) ? stageOf(seen, renewals, areTwo && chance.happens(0.5)) : 0,
      restart: chance.happens(0.02),
    });
  }
  return { seed, code, places, interval_ms, checks };
};

/** A pass, and the newest start that was known when it came. */
type Known = Check & { readonly clockThen: number };
/** `stages`: those that were told, when it began and while it lasted. */
type Warned = {
  readonly from: number;
  readonly to: number | null;
  readonly stages: readonly number[];
};
type Open = { -readonly [Key in keyof Warned]: Warned[Key] };

const isSlow = (checks: readonly Check[]): boolean => {
  const last = checks.slice(-5).map(({ is }) => (is === 'warned' ? 1 : 0));
  const five = [0, 0, 0, 0, 0, ...last].slice(-5).toSorted((a, b) => a - b);
  return five[2] === 1 || last.slice(-2).reduce<number>((sum, one) => sum + one, 0) === 2;
};

/** What the rule says, by looking back at each pass over all that came since it mattered. */
const expected = ({ code, places, interval_ms, checks }: WarningStory): Warned[] => {
  const turn = places.length * interval_ms;
  const warned: Open[] = [];
  let stage = 0;
  let known: Known[] = [];
  let below: number | null = null;
  let confirmed = 0;
  let clock = 0;
  for (const check of checks) {
    const open = warned.find(({ to }) => to === null);
    if (check.restart) [known, below] = [[], null];
    const isOld = check.at < clock - 2 * turn;
    clock = Math.max(clock, check.at);
    const own = known.filter(({ continent }) => continent === check.continent);
    if (check.is === 'failed' || isOld || own.some(({ at }) => at >= check.at)) continue;
    if (!open && known.length === 0 && check.is === 'clear') continue;
    known.push({ ...check, clockThen: clock });
    /** The passes of a continent up to now, each in the last two turns when the next one came. */
    const lineOf = (continent: Continent): Known[] => {
      const line: Known[] = [];
      for (const one of known.filter((each) => each.continent === continent).toReversed()) {
        if (one.at < (line[0]?.clockThen ?? clock) - 2 * turn) break;
        line.unshift(one);
      }
      return line;
    };
    const seesAfter = (line: readonly Known[]): boolean =>
      code === 'slow' ? isSlow(line) : line.at(-1)?.is === 'warned';
    const lines = places.map(lineOf).filter((line) => line.length > 0);
    const seeing = lines.filter(seesAfter);
    const mine = lineOf(check.continent);
    const isLone = places.length === 1;
    const twice = (sees: boolean): boolean =>
      mine.length > 1 && [mine, mine.slice(0, -1)].every((line) => seesAfter(line) === sees);
    /** The one that all who see it have reached. */
    const agreed = Math.max(...seeing.map((line) => line.at(-1)?.stage ?? 0));
    if (!open) {
      const isForgotten = (line: readonly Known[]): boolean =>
        !seesAfter(line) && (code !== 'slow' || line.slice(-5).every((one) => one.is !== 'warned'));
      if (isLone ? twice(true) : seeing.length >= 2) {
        warned.push({
          from: Math.min(...seeing.map((line) => beganIn(line, seesAfter))),
          to: null,
          stages: [agreed],
        });
        [below, confirmed, stage] = [null, check.at, agreed];
      } else if (lines.every(isForgotten)) known = [];
    } else if (isLone ? seesAfter(mine) : seeing.length >= 2) {
      below = null;
      if (agreed < stage && !open.stages.includes(agreed)) open.stages = [...open.stages, agreed];
      stage = agreed;
    } else {
      below ??= Math.max(check.at, confirmed);
      if (isLone ? twice(false) : lines.length - seeing.length >= 2) {
        open.to = below;
        [known, below] = [[], null];
      }
    }
  }
  return warned;
};

/** Start of the first check of those up to the last that saw it without a break. */
const beganIn = (
  line: readonly Known[],
  seesAfter: (line: readonly Known[]) => boolean,
): number => {
  let length = line.length;
  while (length > 1 && seesAfter(line.slice(0, length - 1))) length -= 1;
  return line[length - 1]?.at ?? 0;
};

/** What the core makes of it, and whether it ever makes an incident or downtime of a warning. */
const made = (story: WarningStory): { warned: Warned[]; faults: string[] } => {
  const { code, places, interval_ms, checks } = story;
  const watched: Watched = {
    id: 'monitor',
    organisation: 'organisation',
    kind: code === 'domain_expires' ? 'domain' : 'https',
    interval_ms,
    timeout_ms: 5_000,
    continents: null,
    probe: null,
    config_version: 1,
    alert_after_ms: 0,
    sampled: true,
    created_at: epoch - 86_400_000,
    paused_at: null,
  };
  const network: Roster = {
    epoch: 1,
    probes: places.map((continent) => ({
      id: continent,
      name: continent,
      continent,
      organisation: null,
      healthy: true,
      quarantined: false,
      kinds: ['domain'],
    })),
  };
  let state: MonitorState = createState(watched);
  let ids = 0;
  let now = 0;
  const warned = new Map<string, Warned>();
  const faults: string[] = [];
  const write = (effect: Effect): void => {
    if (effect.is === 'incident' && effect.incident.cause === null)
      faults.push('an incident has no failure');
    // Which places fail is told by no check, and is not what these lives are about.
    if (effect.is !== 'warning' || effect.warning.code === 'place_fails') return;
    const { id, since, begun_at, details } = effect.warning;
    if (id === null || begun_at === null || since > begun_at)
      faults.push('a warning is confirmed before it began');
    const told = warned.get(id ?? '')?.stages ?? [];
    const isTold = effect.change === 'begun' || effect.change === 'deepened';
    warned.set(id ?? '', {
      from: since,
      to: effect.ended_at,
      stages: isTold ? [...told, Number(details.stage)] : told,
    });
    const open = [...warned.values()].filter(({ to }) => to === null);
    if (open.length > 1) faults.push('one warning has begun twice');
  };
  for (const [nth, { at, continent, is, stage, restart }] of checks.entries()) {
    if (restart) {
      const { views, clock, covered_until, decides_from, beat_at } = state;
      state = restore({
        watched,
        checkpoint: { views, clock, covered_until, decides_from, beat_at, observed: null },
        results: [],
        resumed_at: null,
        incident: state.incident,
        gaps: state.gaps,
        warnings: state.warnings
          .filter(({ id }) => id !== null)
          .map((each) => ({ ...each, views: [], below_since: null })),
      });
    }
    const result: SeenResult = {
      seq: nth + 1,
      monitor: 'monitor',
      config_version: 1,
      at,
      took_ms: 20,
      outcome: is === 'failed' ? 'fail' : 'ok',
      cause: is === 'failed' ? { class: 'connection_refused', params: {} } : null,
      phases: null,
      evidence: null,
      look: null,
      ...(is === 'warned' ? { warnings: [{ code, details: { stage } }] } : {}),
      from: { probe: continent, name: continent, continent },
      quarantined: false,
      handed_over: false,
    };
    now = Math.max(now, at + 100);
    const newId = () => {
      ids += 1;
      return `id-${ids}`;
    };
    const decision = decide(state, { is: 'result', result }, { now, network, newId });
    state = decision.state;
    for (const effect of decision.effects) write(effect);
  }
  return { warned: [...warned.values()], faults };
};

const words = (warned: readonly Warned[]): string =>
  warned
    .map(
      ({ from, to, stages }) =>
        `${(from - epoch) / 1_000}-${to === null ? '' : (to - epoch) / 1_000} (${stages.join(', ')})`,
    )
    .join(' ') || 'none';

/** What is wrong with what the core made of a story. */
export const warningFault = (story: WarningStory): string | undefined => {
  const { warned, faults } = made(story);
  if (faults[0] !== undefined) return faults[0];
  const right = words(expected(story));
  const said = words(warned);
  return said === right ? undefined : `${story.code} is told ${said}, and should be ${right}`;
};

/** The shortest story that ends with a fault: each check that can be left out is. */
export const shrinkWarnings = (
  story: WarningStory,
): { readonly story: WarningStory; readonly fault: string | undefined } => {
  let shortest = story;
  for (let nth = story.checks.length - 1; nth >= 0; nth -= 1) {
    const shorter = { ...shortest, checks: shortest.checks.toSpliced(nth, 1) };
    if (warningFault(shorter) !== undefined) shortest = shorter;
  }
  return { story: shortest, fault: warningFault(shortest) };
};

export const describeWarnings = ({ code, places, checks }: WarningStory): string =>
  [
    `${code} of ${places.length} continents`,
    ...checks.map(
      ({ at, continent, is, stage, restart }) =>
        `${restart ? 'restart, then ' : ''}${(at - epoch) / 1_000} s ${continent}: ${is} ${stage}`,
    ),
  ].join('\n');
