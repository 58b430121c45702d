import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Words that no person may read on a page, each with what the trade says. */
const words: readonly (readonly [RegExp, string])[] = [
  [/\banew\b/iu, 'again'],
  [/\bas ever\b/iu, 'still'],
  [/\bwhoever\b/iu, 'anyone who'],
  [/\buntil somebody\b/iu, 'Expires: never'],
  [/\bfor good\b/iu, 'permanently'],
  [/\btaken care of\b|\b(?:I am|you|is|are) on it\b/iu, 'Acknowledged by …'],
  [/\b(?:last|first) look\b|\blooked at\b/iu, 'Last check, Checked … ago'],
  [/\b(?:is|was|who is|told) told\b|\btold (?:of|at once)\b/iu, 'Notified'],
];

const root = join(import.meta.dirname, '..');

/** A file's text without its comments, white space as one space. */
function textOf(source: string): string {
  return source
    .replace(/\/\*[\s\S]*?\*\//gu, ' ')
    .replace(/(^|\s)\/\/ .*$/gmu, ' ')
    .replace(/\s+/gu, ' ');
}

function faultsOf(file: string, source: string): string[] {
  const text = textOf(source);
  return words.flatMap(([wording, better]) =>
    [...text.matchAll(new RegExp(wording, `${wording.flags}g`))].map(
      ({ index }) => `${file}: "${text.slice(Math.max(0, index - 30), index + 40)}": ${better}`,
    ),
  );
}

test('no page uses a word that the trade does not', () => {
  const files = globSync('coordinator/**/{pages/**,pages}.ts', { cwd: root });
  expect(files.length).toBeGreaterThan(50);
  const faults = files.flatMap((file) => faultsOf(file, readFileSync(join(root, file), 'utf8')));
  expect(faults).toEqual([]);
});

test('a word is found in a template, on two lines, and not in a comment', () => {
  const source = 'const page = html`<p>It was looked\n  at</p>`; // anew\n/* whoever */';
  expect(faultsOf('page.ts', source)).toEqual([expect.stringContaining('Last check')]);
});
