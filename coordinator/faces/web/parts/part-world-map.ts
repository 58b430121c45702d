import { drawing } from '../web-assets.ts';
import { type Html, html, safeUrl } from '../web-html.ts';

/** A continent on the map: what it saw, and what stands beside its dot. */
export type MapPoint = {
  readonly continent: string;
  readonly outcome: 'ok' | 'fail' | 'unknown' | 'none';
  readonly label: string;
  readonly below: string;
};

const address = drawing('world.svg');

/** Where continents lie on the drawing, in its own units: the middle of where people live, in the Equal Earth projection. */
const places: Readonly<Record<string, readonly [x: number, y: number]>> = {
  Europe: [523, 70],
  'North America': [266, 100],
  Asia: [760, 134],
  Africa: [556, 236],
  'South America': [342, 299],
  Oceania: [858, 335],
  Antarctica: [500, 420],
};

const dot = ({ continent, outcome, label, below }: MapPoint): Html | null => {
  const place = places[continent];
  if (!place) return null;
  const [x, y] = place;
  // What lies in the east has its words on the left, where the drawing has room.
  const east = x > 700;
  const at = east ? x - 16 : x + 16;
  return html`<g class="dot dot-${outcome}"><circle cx="${x}" cy="${y}" r="11" class="halo"></circle><circle cx="${x}" cy="${y}" r="5.5"></circle><text x="${at}" y="${y - 2}" text-anchor="${
    east ? 'end' : 'start'
  }"><tspan class="dot-name">${label}</tspan><tspan x="${at}" dy="1.15em">${below}</tspan></text></g>`;
};

/** The world with a dot for each continent. `words` say the same to who does not see it. */
export const worldMap = (points: readonly MapPoint[], words: string): Html => {
  const first = points.find(({ outcome }) => outcome === 'fail');
  const from = first && places[first.continent];
  const arcs = from
    ? points.flatMap(({ continent, outcome }) => {
        const to = places[continent];
        if (!to || continent === first.continent || outcome === 'none') return [];
        const lift = Math.abs(to[0] - from[0]) / 5;
        return [`M${from[0]} ${from[1]}Q${(from[0] + to[0]) / 2} ${Math.min(from[1], to[1]) - lift} ${to[0]} ${to[1]}`];
      })
    : [];
  return html`<svg class="world" viewBox="0 -30 1000 446" role="img" aria-label="${words}"><use class="land" href="${safeUrl(`${address}#land`)}"></use><path class="arcs" d="${arcs.join(
    '',
  )}"></path>${points.map(dot)}</svg>`;
};
