/**
 * `npm run torment -- --seconds 600 --seed 7 --coordinators 3 --faults all`: everything goes wrong
 * at random, and what is stored is compared with what was.
 */
import { endWithUsage, numberOf, readCommandLine } from '../support/command-line.ts';
import { type FaultKind, faultKinds } from './torment/faults.ts';
import { holds } from './torment/report.ts';
import { runTorment } from './torment/run.ts';

const usage = `npm run torment -- [--seconds N] [--seed S] [--coordinators N] [--faults all|kind,kind] [--channels]
Faults at random for so long (default 120 s) with so many coordinators (default 2); then what is stored is compared with what was.
With --channels people are told as well, and what arrives is counted.
Faults (default all): ${faultKinds.join(', ')}`;

const { values } = await readCommandLine(
  {
    seconds: { type: 'string' },
    seed: { type: 'string' },
    coordinators: { type: 'string' },
    faults: { type: 'string' },
    channels: { type: 'boolean' },
  },
  () => usage,
);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const given = (name: 'seconds' | 'seed' | 'coordinators', fallback: number): number =>
  numberOf(
    name,
    values[name],
    usage,
    (value) => Number.isInteger(value) && value > 0,
    'a whole number above 0',
  ) ?? fallback;

const kindOf = (word: string): FaultKind =>
  faultKinds.find((kind) => kind === word) ??
  endWithUsage(usage, `--faults has "${word}", which is none of ${faultKinds.join(', ')}`);

const { faults: words = 'all' } = values;
const faults = words === 'all' ? faultKinds : words.split(',').map((word) => kindOf(word.trim()));
const [seed, seconds, coordinators] = [
  given('seed', Date.now() % 1_000_000),
  given('seconds', 120),
  given('coordinators', 2),
];
const report = await runTorment({
  seed,
  seconds,
  coordinators,
  faults,
  channels: values.channels === true,
  say,
});
process.exit(holds(report) ? 0 : 1);
