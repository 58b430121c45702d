/**
 * `npm run figures`: the size of the tree against what we want of it. Tokens say how much there is
 * to read, whatever the width of a line and wherever a file is cut. The walk of a failing check is
 * counted by `npm run bench -- walk`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ts } from './client/parser.ts';

const root = join(import.meta.dirname, '..');

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const trivia = new Set([
  ts.SyntaxKind.SingleLineCommentTrivia,
  ts.SyntaxKind.MultiLineCommentTrivia,
  ts.SyntaxKind.WhitespaceTrivia,
  ts.SyntaxKind.NewLineTrivia,
]);

/** Without comments. The text of a template between two holes is one token. */
const tokensIn = (text: string): number => {
  const { Latest } = ts.ScriptTarget;
  const scanner = ts.createScanner(Latest, false, ts.LanguageVariant.Standard, text);
  /** Open braces in each hole of a template that is being read. */
  const holes: number[] = [];
  let count = 0;
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (trivia.has(token)) continue;
    count += 1;
    const open = holes.at(-1);
    if (token === ts.SyntaxKind.TemplateHead) holes.push(0);
    else if (open === undefined) continue;
    else if (token === ts.SyntaxKind.OpenBraceToken) holes[holes.length - 1] = open + 1;
    else if (token === ts.SyntaxKind.CloseBraceToken) {
      if (open > 0) holes[holes.length - 1] = open - 1;
      else if (scanner.reScanTemplateToken(false) === ts.SyntaxKind.TemplateTail) holes.pop();
    }
  }
  return count;
};

const programs = tracked.filter((file) => /\.(ts|mts|mjs)$/.test(file) && !/generated/.test(file));
const isTest = (file: string): boolean => file.startsWith('test/');
const tokensOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + tokensIn(read(file)), 0);
const matchesIn = (files: readonly string[], pattern: RegExp): number =>
  files.reduce((sum, file) => sum + [...read(file).matchAll(pattern)].length, 0);

/** What is counted, how much it is, and the most that it should be. */
const figures: readonly (readonly [what: string, is: number, most: number])[] = [
  ['tokens of source', tokensOf(programs.filter((file) => !isTest(file))), 830_000],
  ['tokens of tests', tokensOf(programs.filter(isTest)), 960_000],
  [
    'tables',
    matchesIn(
      tracked.filter((file) => /migrations\/.*\.sql$/.test(file)),
      /^create table /gim,
    ),
    105,
  ],
  [
    'mentions of a version before 1.0.0',
    matchesIn(
      tracked.filter((file) => /^(coordinator|probe|shared|deploy)\/.*\.(ts|sql|md)$/.test(file)),
      /version before|older version|\b0\.1\.0\b/g,
    ),
    0,
  ],
];

for (const [what, is, most] of figures)
  process.stdout.write(
    `${is <= most ? '  ' : 'NO'} ${String(is).padStart(9)}  ${what} (at most ${most})\n`,
  );
