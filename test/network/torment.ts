/** `npm run torment -- --seconds 600 --seed 7 --coordinators 3`: kill -9 of everything at random, and the ledgers compared at the end. */
import { parseArgs } from 'node:util';
import { holds, type Report, runTorment } from './torment/run.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    coordinators: { type: 'string', default: '2' },
  },
});

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

const numbered = (name: 'seconds' | 'seed' | 'coordinators'): number => {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number > 0) return number;
  process.stderr.write(`--${name} must be a whole number above 0\n`);
  process.exit(2);
};

const report = await runTorment({ seed: numbered('seed'), seconds: numbered('seconds'), coordinators: numbered('coordinators'), say });
print(report);
process.exit(holds(report) ? 0 : 1);
