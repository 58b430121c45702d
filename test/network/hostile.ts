/**
 * `npm run hostile -- --seconds 600`: targets that try to end probes or to spoil others' checks,
 * beside healthy ones.
 */
import { numberOf, readCommandLine } from '../support/command-line.ts';
import { startServices } from '../support/services-run.ts';
import { type HostileReport, isUnharmed, runHostile } from './hostile/run.ts';

const usage = `npm run hostile -- [--seconds N]
Checks hostile targets beside healthy ones for so long (default 600 s): no probe may end or take more than 200 MiB, and no healthy target may be called down.`;

const { values } = await readCommandLine({ seconds: { type: 'string' } }, () => usage);
const seconds =
  numberOf(
    'seconds',
    values.seconds,
    usage,
    (value) => Number.isInteger(value) && value > 0,
    'a whole number above 0',
  ) ?? 600;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const print = ({ monitors, exits, most_mib, results, opened, confirmed }: HostileReport): void => {
  say(
    `\nmonitors: ${Object.entries(monitors)
      .map(([is, count]) => `${is} ${count}`)
      .join(', ')}`,
  );
  say(
    `results: ${Object.entries(results)
      .toSorted()
      .map(([is, count]) => `${is} ${count}`)
      .join(', ')}`,
  );
  say(`most memory of a probe: ${most_mib.toFixed(0)} MiB (at most 200)`);
  say(`false outages: ${confirmed} confirmed, ${opened} opened`);
  say(`probes that ended: ${exits.length}${exits.map((exit) => `\n${exit}`).join('')}`);
};

const services = await startServices();
const report = await runHostile({ seconds, services: services.services, say }).finally(
  services.stop,
);
print(report);
process.exit(isUnharmed(report) ? 0 : 1);
