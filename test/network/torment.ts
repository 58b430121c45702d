/** `npm run torment -- --seconds 600 --seed 7 --coordinators 3`: kill -9 of everything at random, and the ledgers compared at the end. */
import { numberOf, readCommandLine } from '../support/command-line.ts';
import { holds, type Report, runTorment } from './torment/run.ts';

const usage = `npm run torment -- [--seconds N] [--seed S] [--coordinators N]
Kills everything at random for so long (default 120 s) with so many coordinators (default 2), and compares the ledgers at the end.`;

const { values } = await readCommandLine(
  { seconds: { type: 'string' }, seed: { type: 'string' }, coordinators: { type: 'string' } },
  () => usage,
);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const few = (name: string, entries: readonly string[]): string =>
  `  ${name}: ${entries.length}${entries
    .slice(0, 10)
    .map((entry) => `\n    ${entry}`)
    .join('')}`;

const print = (report: Report): void => {
  const { seed, rounds, kills, freezes, rest_ms, balance, verdict, stalls } = report;
  const all = Object.entries(kills).map(([kind, count]) => `${kind} ${count}`);
  say(`\nseed ${seed}: ${rounds} rounds; kill -9: ${all.join(', ')}; frozen past their leases: ${freezes}`);
  say(rest_ms === null ? 'it did not come to rest' : `at rest ${(rest_ms / 1_000).toFixed(1)} s after the last start`);
  say(
    `checks seen by the targets ${balance.seen}, results in the database ${balance.stored}, under way in a probe that was killed ${balance.in_flight}`,
  );
  for (const name of ['lost', 'doubled', 'invented'] as const) say(few(name, balance[name]));
  say(`outages seen from two continents ${verdict.outages}, confirmed incidents ${verdict.confirmed}, "down" alerts ${verdict.told}`);
  if (stalls > 0) say(`this machine had no turn for the targets for a second and more: ${stalls} times`);
  say(few('outages that nothing tells of', verdict.missed));
  say(few('false alerts', verdict.false_alerts));
  say(few('incidents that overlap, stay open or were told twice', verdict.crooked));
};

const given = (name: 'seconds' | 'seed' | 'coordinators', fallback: number): number =>
  numberOf(name, values[name], usage, (value) => Number.isInteger(value) && value > 0, 'a whole number above 0') ?? fallback;

const [seed, seconds, coordinators] = [given('seed', Date.now() % 1_000_000), given('seconds', 120), given('coordinators', 2)];
const report = await runTorment({ seed, seconds, coordinators, say });
print(report);
process.exit(holds(report) ? 0 : 1);
