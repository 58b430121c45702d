import { type Html, html } from '../web/html.ts';

/** How large a character of the text is in the drawing, in its own units. */
const wide = 8;
const tall = 20;

/** Where lines leave the middle of a character for, also those of an arrow's head: up, right, down, left. */
const lines: Readonly<Record<string, string>> = {
  '─': 'rl',
  '│': 'ud',
  '┌': 'rd',
  '┐': 'dl',
  '└': 'ur',
  '┘': 'ul',
  '├': 'urd',
  '┤': 'udl',
  '┬': 'rdl',
  '┴': 'url',
  '┼': 'urdl',
  '▲': 'd',
  '▼': 'u',
  '▶': 'l',
  '◄': 'r',
};
const steps: Readonly<Record<string, string>> = {
  u: `v${-tall / 2}`,
  r: `h${wide / 2}`,
  d: `v${tall / 2}`,
  l: `h${-wide / 2}`,
};
const heads: Readonly<Record<string, string>> = {
  '▲': 'm-4 8 4-8 4 8z',
  '▼': 'm-4-8 4 8 4-8z',
  '▶': 'm-4-4 8 4-8 4z',
  '◄': 'm4-4-8 4 8 4z',
};

/**
 * A drawing in characters, as pages have it for whoever reads them as text, in lines and letters of
 * the page.
 */
export function drawingMarkup(text: string): Html {
  const rows = text.split('\n');
  const strokes: string[] = [];
  const arrows: string[] = [];
  for (const [y, row] of rows.entries())
    for (const [x, character] of [...row].entries()) {
      const middle = `M${(x + 0.5) * wide} ${(y + 0.5) * tall}`;
      for (const way of lines[character] ?? '') strokes.push(`${middle}${steps[way]}`);
      const head = heads[character];
      if (head !== undefined) arrows.push(`${middle}${head}`);
      // A head ends at the frame that it points to, which goes on below it.
      if ('▲▼'.includes(character) && row[x - 1] === '─')
        strokes.push(`M${x * wide} ${(y + 0.5) * tall}h${wide}`);
    }
  return html`
    <svg
      class="drawing"
      viewBox="0 0 ${Math.max(...rows.map(({ length }) => length)) * wide} ${rows.length * tall}"
    >
      <path class="lines" d="${strokes.join('')}"/>
      <path d="${arrows.join('')}"/>
      ${rows.flatMap((row, y) =>
        wordsIn(row).map((words) => textMarkup(words, row, [rows[y - 1], rows[y + 1]], y)),
      )}
    </svg>
  `;
}

type Words = { readonly words: string; readonly at: number };

/** Two blanks part what stands in one row. */
function wordsIn(row: string): readonly Words[] {
  return [...row.matchAll(/[^\s─-╿▲▼▶◄]+(?: [^\s─-╿▲▼▶◄]+)*/g)].map(({ 0: words, index }) => ({
    words,
    at: index,
  }));
}

/** Letters of the page are narrower: words keep the side on which they touch a line, or others. */
function textMarkup(
  { words, at }: Words,
  row: string,
  beside: readonly (string | undefined)[],
  y: number,
): Html {
  const end = at + words.length;
  const isLine = (character: string | undefined) => /[─-╿▶◄]/.test(character ?? '');
  const touchesBefore = isLine(row[at - 2]);
  const touchesAfter = isLine(row[end + 1]);
  const isUnder = beside.some((other) => wordsIn(other ?? '').some((one) => one.at === at));
  const frame = /^(.*[│├┤]) *$/.exec(row.slice(0, at))?.[1]?.length;
  const past = /^ *[│├┤]/.exec(row.slice(end))?.[0].length;
  const [anchor, x] =
    frame !== undefined && past !== undefined
      ? ['middle', (frame + end + past - 1) / 2]
      : isUnder || (touchesBefore && !touchesAfter)
        ? ['start', at]
        : touchesAfter && !touchesBefore
          ? ['end', end]
          : ['middle', (at + end) / 2];
  return html`<text text-anchor="${anchor}" x="${x * wide}" y="${y * tall + 14}">${words}</text>`;
}
