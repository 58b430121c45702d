import type { Row } from './judge.ts';
import { namesOf } from './report.ts';

/**
 * Seconds until the receiver had the alert: a dot for each phase, a bar for a false alarm, and how
 * many failures were missed. Pure.
 */

const left = 150;
const width = 640;
const lane = 12;
const seconds = 60;
const colours = ['#0f766e', '#b45309', '#7c3aed', '#be123c'];

export function picture(rows: readonly Row[]): string {
  const subjects = namesOf(rows, 'subject');
  const scenarios = namesOf(rows, 'scenario');
  const rowHeight = subjects.length * lane + 10;
  const top = 48;
  const height = top + scenarios.length * rowHeight + 28;
  const x = (value: number): number =>
    round(left + (Math.min(value, seconds) / seconds) * (width - left - 72));
  const colour = (subject: string): string => colours[subjects.indexOf(subject)] ?? '#334155';
  const legend = subjects.map((subject, nth) => {
    const at = left + nth * 110;
    return `<circle cx="${at}" cy="16" r="4" fill="${colour(subject)}"/><text x="${at + 10}" y="20">${subject}</text>`;
  });
  const grid = [0, 10, 20, 30, 40, 50, 60].map(
    (value) =>
      `<path d="M${x(value)} ${top - 8}V${height - 24}" stroke="#cbd5e1"/><text x="${x(value)}" y="${height - 8}" text-anchor="middle">${value} s</text>`,
  );
  const marks = scenarios.flatMap((scenario, nth) => {
    const y = top + nth * rowHeight;
    const ofSubjects = subjects.flatMap((subject, place) =>
      marksOf(
        rows.filter((row) => row.scenario === scenario && row.subject === subject),
        y + place * lane + lane / 2,
        colour(subject),
      ),
    );
    return [`<text x="8" y="${y + rowHeight / 2}">${scenario}</text>`, ...ofSubjects];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11" fill="#334155">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...legend,
    ...grid,
    ...marks,
    '</svg>',
  ].join('\n')}\n`;

  /** Missed failures are crosses at the right edge; who rightly said nothing leaves no mark. */
  function marksOf(of: readonly Row[], y: number, stroke: string): readonly string[] {
    const at = (isFalse: boolean): readonly number[] =>
      of.flatMap(({ verdict, alert_s }) =>
        alert_s === null || verdict === 'missed' || (verdict === 'false') !== isFalse
          ? []
          : x(alert_s),
      );
    const missed = of.filter(({ verdict }) => verdict === 'missed').length;
    const path = (d: string, look: string): readonly string[] =>
      d === '' ? [] : [`<path d="${d}" stroke="${stroke}" fill="none" ${look}/>`];
    return [
      ...path(dots(at(false), y), 'stroke-width="8" stroke-linecap="round" stroke-opacity="0.5"'),
      ...path(
        at(true)
          .map((value) => `M${value} ${y - 4}v8`)
          .join(''),
        'stroke-width="3"',
      ),
      ...(missed === 0
        ? []
        : [
            `<text x="${width - 8}" y="${y + 4}" text-anchor="end" fill="${stroke}">${missed} missed</text>`,
          ]),
    ];
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A dot at each of these places, told by how far it is from the one before: the program carries the picture. */
function dots(places: readonly number[], y: number): string {
  let last = 0;
  return places
    .map(Math.round)
    .toSorted((one, other) => one - other)
    .map((place, nth) => {
      const moved = place - last;
      last = place;
      return nth === 0 ? `M${place} ${y}h0` : `m${moved} 0h0`;
    })
    .join('');
}
