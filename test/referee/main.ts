/**
 * `npm run referee -- --phases 30`: Antipode and its peers watch the same targets, which fail in the
 * ways of the trade. Measured is where the receiver gets the POST.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFolder } from '../../deploy/node/places.mjs';
import { endWithUsage, numberOf, readCommandLine } from '../support/command-line.ts';
import { picture } from './picture.ts';
import { delaysOf, tableOf, tsvOf } from './report.ts';
import { runReferee, subjectNames } from './run.ts';
import { scenarios } from './scenarios.ts';

const usage = `npm run referee -- [--phases N] [--only SCENARIO,…] [--subjects NAME,…] [--into FOLDER]
So many phases of each scenario (default 30), watched by ${subjectNames.join(', ')}.
Writes referee.tsv and referee.svg into the folder (default .antipode).
Scenarios: ${scenarios.map(({ name }) => name).join(', ')}`;

const { values } = await readCommandLine(
  {
    phases: { type: 'string' },
    only: { type: 'string' },
    subjects: { type: 'string' },
    into: { type: 'string' },
  },
  () => usage,
);
const phases =
  numberOf(
    'phases',
    values.phases,
    usage,
    (value) => Number.isInteger(value) && value > 0,
    'a whole number above 0',
  ) ?? 30;

const chosen = <Known>(
  flag: string,
  words: string | undefined,
  all: readonly Known[],
  nameOf: (known: Known) => string,
): readonly Known[] =>
  words === undefined
    ? all
    : words
        .split(',')
        .map(
          (word) =>
            all.find((known) => nameOf(known) === word.trim()) ??
            endWithUsage(usage, `--${flag} has "${word}", which is none of ${all.map(nameOf)}`),
        );

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { rows, subjects, missing } = await runReferee({
  phases,
  scenarios: chosen('only', values.only, scenarios, ({ name }) => name),
  subjects: chosen('subjects', values.subjects, subjectNames, (name) => name),
  say,
});
const folder = join(projectFolder, values.into ?? '.antipode');
await mkdir(folder, { recursive: true });
await writeFile(join(folder, 'referee.tsv'), tsvOf(rows));
await writeFile(join(folder, 'referee.svg'), picture(rows));
for (const { name, version, settings } of subjects) say(`\n${name} (${version}): ${settings}`);
for (const { name, missing: why } of missing) say(`\n${name} is missing: ${why}`);
say(`\n${tableOf(rows)}\n\n${delaysOf(rows)}`);
const own = rows.filter(({ subject }) => subject === 'antipode');
process.exit(own.every(({ verdict }) => verdict === 'right') ? 0 : 1);
