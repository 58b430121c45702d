import { durationText } from '../../shared/base/time.ts';
import type { Outcome, Witness } from '../../shared/checks/result.ts';
import { drawing } from './assets.ts';
import { msText, shortName } from './elements.ts';
import { type Html, html, icon, type Part, safeUrl } from './html.ts';

/**
 * Who saw an outage, from where and when. This has one form on all pages: on the dashboard, at an
 * incident, and on status pages. */
export type WitnessWords = Readonly<Record<Outcome, string>>;

const symbols = { fail: 'down', ok: 'up', unknown: 'unknown' } as const;

/** How a page says it. */
export type WitnessLook = {
  readonly words: WitnessWords;
  readonly placeOf: (continent: string) => string;
  readonly symbolOf: (symbol: (typeof symbols)[Outcome]) => Html;
};

const members: WitnessLook = {
  words: { fail: 'down', ok: 'up', unknown: 'inconclusive' },
  placeOf: shortName,
  symbolOf: icon,
};

export function witnessLine(all: readonly Witness[], look: Partial<WitnessLook> = {}): Part {
  return listOf(all, all, look);
}

/** Some of all who saw it. */
function listOf(
  some: readonly Witness[],
  all: readonly Witness[],
  look: Partial<WitnessLook>,
): Part {
  const { words, placeOf, symbolOf } = { ...members, ...look };
  const first = all.find(({ outcome }) => outcome === 'fail');
  return (
    some.length > 0 &&
    html`
      <ul class="witnesses">
        ${some.map((each) => {
          const { place, outcome, after_ms } = each;
          const agrees = outcome === 'fail' && each !== first && after_ms !== null;
          return html`
            <li class="saw-${outcome}${Object.hasOwn(positions, place) && ` at-${place.toLowerCase().replace(' ', '-')}`}">
              ${symbolOf(symbols[outcome])}<b>${placeOf(place)}</b>${' '}
              <span>${agrees ? 'agrees' : words[outcome]}</span>${' '}
              ${after_ms !== null && html`<span>${after_ms === 0 && each === first ? 'first' : `+${laterText(after_ms)}`}</span>`}
            </li>
          `;
        })}
      </ul>
    `
  );
}

export function laterText(ms: number): string {
  return ms < 10_000 ? msText(Math.max(0, ms)) : durationText(ms);
}

export const world = drawing('world.svg');

/**
 * The position of each continent in the drawing's units, in the Equal Earth projection: about the
 * centre of its population, and within what is shown of the map. The style places what is said of
 * it there.
 */
const positions: Readonly<Record<string, readonly [x: number, y: number]>> = {
  Europe: [523, 70],
  'North America': [266, 100],
  Asia: [760, 134],
  Africa: [556, 236],
  'South America': [342, 290],
  Oceania: [850, 300],
  Antarctica: [500, 340],
};

/** The same on a map, each at its place, with lines from the first that saw an outage to the others; what has no place on it stands below. */
export function witnessMap(all: readonly Witness[], look: Partial<WitnessLook> = {}): Part {
  const placed = all.filter(({ place }) => Object.hasOwn(positions, place));
  const [first, ...others] = placed.flatMap(({ place }) => {
    const at = positions[place];
    return at === undefined ? [] : [at];
  });
  if (first === undefined) return listOf(all, all, look);
  const [x, y] = first;
  const isOutage = all.some(({ outcome }) => outcome === 'fail');
  const arcs = (isOutage ? others : []).map(([right, down]) => {
    const top = Math.min(y, down) - Math.abs(right - x) / 5;
    return `M${x} ${y}Q${(x + right) / 2} ${top} ${right} ${down}`;
  });
  return html`
    <div class="seen">
      <svg class="world" viewBox="120 0 840 352" aria-hidden="true">
        <use href="${safeUrl(`${world}#land`)}"></use>
        <path class="arcs" d="${arcs.join('')}"></path>
      </svg>
      ${listOf(placed, all, look)}
    </div>
    ${listOf(
      all.filter((each) => !placed.includes(each)),
      all,
      look,
    )}
  `;
}
