import { durationText } from '../../shared/base/time.ts';
import type { Outcome, Witness } from '../../shared/checks/result.ts';
import { drawing } from './assets.ts';
import { msText, shortName } from './elements.ts';
import { type Html, html, icon, type Part, safeUrl } from './html.ts';

/**
 * Who saw an outage, from where and when. This has one form on all pages: on the dashboard, at an
 * incident, and on status pages. `agrees`: the failure of every place after the first. */
export type WitnessWords = Readonly<Record<Outcome | 'agrees', string>>;

const symbols = { fail: 'down', ok: 'up', unknown: 'unknown' } as const;

/** How a page says it. */
export type WitnessLook = {
  readonly words: WitnessWords;
  readonly placeOf: (continent: string) => string;
  readonly laterOf: (ms: number) => string;
  readonly symbolOf: (symbol: (typeof symbols)[Outcome]) => Html;
};

const members: WitnessLook = {
  words: { fail: 'down', agrees: 'agrees', ok: 'up', unknown: 'inconclusive' },
  placeOf: shortName,
  laterOf: laterText,
  symbolOf: icon,
};

export function witnessLine(all: readonly Witness[], look: Partial<WitnessLook> = {}): Part {
  const { words, placeOf, laterOf, symbolOf } = { ...members, ...look };
  const first = all.find(({ outcome }) => outcome === 'fail');
  return (
    all.length > 0 &&
    html`
      <ul class="witnesses">
        ${all.map((each) => {
          const { place, outcome, after_ms } = each;
          const agrees = outcome === 'fail' && each !== first && after_ms !== null;
          return html`
            <li class="saw-${outcome}">
              ${symbolOf(symbols[outcome])}<b>${placeOf(place)}</b>${' '}
              <span>${words[agrees ? 'agrees' : outcome]}</span>${' '}
              ${after_ms !== null && html`<span>+${laterOf(after_ms)}</span>`}
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

const world = drawing('world.svg');

/**
 * The position of each continent in the drawing's units: the centre of its population, in the Equal
 * Earth projection.
 */
const positions: Readonly<Record<string, readonly [x: number, y: number]>> = {
  Europe: [523, 70],
  'North America': [266, 100],
  Asia: [760, 134],
  Africa: [556, 236],
  'South America': [342, 299],
  Oceania: [858, 335],
  Antarctica: [500, 420],
};

/** The continents among them on a map, from the first to the others; the line beside it says the same. */
export function witnessMap(all: readonly Witness[]): Part {
  const points = all.flatMap(({ place, outcome }) => {
    const at = positions[place];
    return at === undefined ? [] : [{ at, outcome }];
  });
  const [first, ...others] = points;
  if (first === undefined) return null;
  const [x, y] = first.at;
  const arcs = others.map(({ at: [right, down] }) => {
    const top = Math.min(y, down) - Math.abs(right - x) / 5;
    return `M${x} ${y}Q${(x + right) / 2} ${top} ${right} ${down}`;
  });
  return html`
    <svg class="world" viewBox="60 0 880 ${points.some(({ at: [, down] }) => down > 400) ? 446 : 380}" aria-hidden="true">
      <use class="land" href="${safeUrl(`${world}#land`)}"></use>
      <path class="arcs" d="${arcs.join('')}"></path>
      ${points.map(
        ({ at: [right, down], outcome }): Html => html`
          <g class="dot-${outcome}">
            <circle cx="${right}" cy="${down}" r="20" class="halo"></circle>
            <circle cx="${right}" cy="${down}" r="9"></circle>
          </g>
        `,
      )}
    </svg>
  `;
}
