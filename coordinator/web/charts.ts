import { clip, durationText, type Interval } from '../../shared/base/time.ts';
import { byContinent, type State, shortName, stateWords } from './elements.ts';
import { type Html, html } from './html.ts';
import type { Times } from './times.ts';

/** Round numbers for an axis that begins at zero: the top and the steps, at most five of them. */
export function axisOf(limit: number): { readonly top: number; readonly ticks: readonly number[] } {
  const wanted = Math.max(limit, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step =
    [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= wanted) ?? wanted;
  const count = Math.max(1, Math.ceil(Math.max(limit, 1) / step));
  return {
    top: step * count,
    ticks: Array.from({ length: count + 1 }, (_, at) => Number((at * step).toFixed(6))),
  };
}

/** `count` moments, evenly from the first to the last. */
export function momentsBetween(from: number, to: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => from + ((to - from) * at) / (count - 1));
}

export type Point = { readonly at: number; readonly value: number | null };

/**
 * One line, broken where nothing was measured for longer than `gap`, and the points that this
 * leaves alone, as a path of dots.
 */
export function linePath(
  points: readonly Point[],
  x: (at: number) => number,
  y: (value: number) => number,
  gap: number,
): { readonly line: string; readonly dots: string } {
  let [line, dots, dot] = ['', '', ''];
  let last: { readonly at: number; readonly x: number; readonly y: number } | undefined;
  for (const { at, value } of points) {
    if (value === null) continue;
    const [right, down] = [tenth(x(at)), tenth(y(value))];
    const goesOn = last !== undefined && at - last.at <= gap;
    // Steps repeat themselves, which places do not: compressed, that is half.
    line +=
      goesOn && last !== undefined
        ? `l${tenth(right - last.x)} ${tenth(down - last.y)}`
        : `M${right} ${down}`;
    if (!goesOn) dots += dot;
    dot = goesOn ? '' : `M${right} ${down}h0`;
    last = { at, x: right, y: down };
  }
  return { line, dots: dots + dot };
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}

/** What lies between two such lines, in whole units: it is a shade, and as long as they are. */
export function areaPath(
  points: readonly { readonly at: number; readonly low: number; readonly high: number }[],
  x: (at: number) => number,
  y: (value: number) => number,
  gap: number,
): string {
  let path = '';
  let before: number | undefined;
  /** From its last point back to the first, below. */
  let back = '';
  let last = { x: 0, high: 0, low: 0 };
  for (const { at, low, high } of points) {
    const here = { x: Math.round(x(at)), high: Math.round(y(high)), low: Math.round(y(low)) };
    const goesOn = before !== undefined && at - before <= gap;
    path += goesOn
      ? `l${here.x - last.x} ${here.high - last.high}`
      : `${before === undefined ? '' : `V${last.low}${back}z`}M${here.x} ${here.high}`;
    back = goesOn ? `l${last.x - here.x} ${last.low - here.low}${back}` : '';
    [before, last] = [at, here];
  }
  return before === undefined ? '' : `${path}V${last.low}${back}z`;
}

export type LaneSample = {
  readonly at: string;
  readonly continent: string;
  readonly outcome: string;
};

const laneWidth = 1_000;
const laneHeight = 28;

const laneWords = { fail: 'fails', ok: 'passes', unknown: 'inconclusive' } as const;

/**
 * What every continent observed over time, one lane each: failures are tall, passes short, and
 * results that a probe cannot vouch for shorter. A line goes through all lanes where it was
 * detected.
 */
export function sampleLanes(
  samples: readonly LaneSample[],
  detected: number,
  times: Times,
): Html | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) return null;
  const [from, to] = [Date.parse(first.at), Date.parse(last.at)];
  const long = Math.max(1, to - from);
  const lanes = [...Map.groupBy(samples, ({ continent }) => continent)]
    .map(([continent, all]) => ({ continent, all }))
    .toSorted(byContinent);
  const x = (at: number): number => Math.round(((at - from) / long) * laneWidth);
  const isShown = from <= detected && detected <= to;
  const outcomes = (['fail', 'ok', 'unknown'] as const).filter((outcome) =>
    samples.some((sample) => sample.outcome === outcome),
  );
  return html`
    <div class="lanes">
      ${lanes.map(
        ({ continent, all }) =>
          html`
            <div class="sample-lane">
              <span class="soft">${shortName(continent)}</span>
              <svg
                viewBox="0 0 ${laneWidth} ${laneHeight}"
                preserveAspectRatio="none"
                role="img"
                aria-label="${continent}: ${countWords(all)}"
              >
                ${isShown && html`<path class="deploy" d="M${x(detected)}-1v${laneHeight + 2}"></path>`}
                ${outcomes.map((outcome) => {
                  const marks = all.filter((sample) => sample.outcome === outcome);
                  return marks.length === 0
                    ? null
                    : html`
                      <path
                        class="tick tick-${outcome}"
                        d="${marks.map(({ at }) => markOf(outcome, x(Date.parse(at)))).join('')}"
                      ></path>
                    `;
                })}
              </svg>
            </div>
          `,
      )}
      <div class="sample-lane">
        <span class="soft"></span>
        <span class="lane-times">
          <span>${times.moment(from)}</span>
          <span>${times.moment(to)}</span>
        </span>
      </div>
      <p class="legend">
        ${outcomes.map((outcome) => html`<span class="key key-${outcome}"></span>${laneWords[outcome]} `)}
        ${isShown && html`<span class="key key-line"></span>detected`}
      </p>
    </div>
  `;
}

function countWords(samples: readonly LaneSample[]): string {
  const failed = samples.filter(({ outcome }) => outcome === 'fail').length;
  const passed = samples.filter(({ outcome }) => outcome === 'ok').length;
  return `${failed} failed, ${passed} passed`;
}

function markOf(outcome: string, x: number): string {
  const tall = outcome === 'fail' ? 16 : outcome === 'ok' ? 10 : 4;
  return `M${x} ${(laneHeight - tall) / 2}v${tall}`;
}

/**
 * About pixels; horizontally one per value. A page has fifty of these, and repeated whole numbers
 * compress well.
 */
const [sparkHeight, margin] = [20, 1];

/**
 * Response times as one line over its ground, which is zero, oldest first; it ends where there is
 * none. The slowest is at the top, and even ones stand at two thirds. The ends of the ground lie
 * outside: they are not seen.
 */
export function spark(all: readonly (number | null)[], words: string): Html | null {
  const values = inThrees(all);
  const present = values.filter((value) => value !== null);
  if (present.length < 2) return null;
  const sorted = present.toSorted((a, b) => a - b);
  const usual = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const top = Math.max(1.5 * usual, sorted.at(-1) ?? 0) || 1;
  // Steps from point to point repeat themselves, which places do not: compressed, that is half.
  let path = '';
  let before: number | undefined;
  let flat = 0;
  for (let at = 0; at <= values.length; at += 1) {
    const value = values[at] ?? null;
    const y =
      value === null
        ? undefined
        : Math.round(sparkHeight - margin - (value / top) * (sparkHeight - 2 * margin));
    if (y !== before && flat > 0) path += `h${flat}`;
    flat = y === before && y !== undefined ? flat + 1 : 0;
    if (y !== before)
      path +=
        before === undefined
          ? `M${at === 0 ? -1 : at} ${sparkHeight + 1}V${y}${at === 0 ? 'h1' : ''}`
          : y === undefined
            ? `${at === values.length ? 'h1' : ''}V${sparkHeight + 1}`
            : `l1 ${y - before}`;
    before = y;
  }
  return html`
    <svg
      class="spark"
      viewBox="0 0 ${values.length - 1} ${sparkHeight}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${words}"
    >
      <path d="${path}"></path>
    </svg>
  `;
}

/** Three values as one: a third of the points weighs a third, and shows as much. */
function inThrees(values: readonly (number | null)[]): readonly (number | null)[] {
  return values.flatMap((_, at) => {
    if (at % 3 > 0) return [];
    const three = values.slice(at, at + 3).filter((value) => value !== null);
    return [
      three.length === 0 ? null : three.reduce((sum, value) => sum + value, 0) / three.length,
    ];
  });
}

/** A state, or `none` for a time before there was anything. */
export type Bar = State | 'none';

const [step, gap] = [5, 2];

type Run = { readonly state: State; readonly at: number; readonly length: number };

/** Screen readers read only the newest exceptions. */
const maxTold = 3;

/**
 * The last day as bars, oldest first. Time up is one path; every other stretch is one of its own,
 * which says its time when it is pointed at.
 */
export function dayStrip(bars: readonly Bar[], downs: readonly Interval[], times: Times): Html {
  const barMs = 86_400_000 / bars.length;
  const timeOf = (at: number) => times.now - (bars.length - at) * barMs;
  const minuteOf = (at: number) => times.text(timeOf(at), 'minute');
  const runs = runsOf(bars);
  const others = runs.filter(({ state }) => state !== 'up');
  const said = ({ state, at, length }: Run) => {
    const when = `${minuteOf(at)}–${minuteOf(at + length)}`;
    if (state !== 'down') return `${stateWords[state]} ${when}`;
    // A bar with any downtime is down: its own times would make an hour of a minute.
    const run = { from: timeOf(at), to: timeOf(at + length) };
    const down = clip(downs, run).reduce((sum, { from, to }) => sum + to - from, 0);
    return `${when}: down ${durationText(down)}`;
  };
  const left = others.length - maxTold;
  const told = [
    ...(others.length < runs.length ? [stateWords.up] : []),
    ...others.slice(-maxTold).map(said),
    ...(left > 0 ? [`${left} more`] : []),
  ];
  return stripOf(bars.length, runs, `The last 24 hours: ${told.join(', ')}`, said);
}

/** Bars alone, oldest first, of which `words` say what they show. */
export function strip(bars: readonly Bar[], words: string): Html {
  return stripOf(bars.length, runsOf(bars), words);
}

function stripOf(
  count: number,
  runs: readonly Run[],
  words: string,
  said?: (run: Run) => string,
): Html {
  const ups = runs.filter(({ state }) => state === 'up');
  const others = runs.filter(({ state }) => state !== 'up');
  return html`
    <svg
      class="strip"
      viewBox="0 0 ${count * step - gap} 24"
      preserveAspectRatio="none"
      role="img"
      aria-label="${words}"
    >
      ${ups.length > 0 && runsPath('up', ups.map(runPath).join(''))}
      ${others.map((run) => runsPath(run.state, runPath(run), said?.(run)))}
    </svg>
  `;
}

/** Neighbouring bars of one state. */
function runsOf(bars: readonly Bar[]): readonly Run[] {
  const runs: Run[] = [];
  let at = 0;
  while (at < bars.length) {
    const state = bars[at] ?? 'none';
    let end = at + 1;
    while (end < bars.length && bars[end] === state) end += 1;
    if (state !== 'none') runs.push({ state, at, length: end - at });
    at = end;
  }
  return runs;
}

function runsPath(state: State, d: string, title?: string): Html {
  const tone = state === 'pending' ? 'paused' : state;
  return html`
    <path class="${isPlain(state) ? `dashes-${tone}` : `fill-${tone}`}" d="${d}">
      ${title !== undefined && html`<title>${title}</title>`}
    </path>
  `;
}

/** Verifying has a notch, maintenance is hatched. */
function isPlain(state: State): boolean {
  return state !== 'verifying' && state !== 'maintenance';
}

/**
 * How tall a bar of each state is, out of 24: states differ even without colour. The style has the
 * same heights, for bars drawn as dashes.
 */
const heights: Readonly<Record<State, number>> = {
  down: 24,
  verifying: 20,
  up: 16,
  maintenance: 16,
  unknown: 3,
  paused: 3,
  pending: 3,
};

const middle = 12;

/** Plain bars are a dashed line as wide as they are tall: it weighs a fiftieth of them. */
function runPath({ state, at, length }: Run): string {
  return isPlain(state)
    ? `M${at * step} ${middle}h${length * step - gap}`
    : Array.from({ length }, (_, nth) => barPath(at + nth, state)).join('');
}

function barPath(at: number, state: State): string {
  const [x, y, width] = [at * step, middle - heights[state] / 2, step - gap];
  if (state === 'verifying')
    return `M${x} ${y}h${width / 2}v5h${width / 2}v${heights[state] - 5}h-${width}z`;
  return [0, 4, 8, 12].map((down) => `M${x} ${y + down + 2}l${width}-2v2l-${width} 2z`).join('');
}
