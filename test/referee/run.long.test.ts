import { expect, test } from 'vitest';
import { canMakeTwoHosts } from '../support/hosts.ts';
import { hasBinaries } from '../support/services.ts';
import { runReferee } from './run.ts';
import { scenarios } from './scenarios.ts';

/** A short run of `npm run referee`, without peers; the long ones are the project's own. */

test.runIf(hasBinaries() && canMakeTwoHosts())(
  'what fails is told at the receiver in time, and what one place alone does not reach is not',
  async () => {
    const chosen = ['status-503', 'refused', 'dns-nxdomain', 'one-place-blocked'];
    const { rows } = await runReferee({
      phases: 2,
      scenarios: scenarios
        .filter(({ name }) => chosen.includes(name))
        .map((scenario) => ({ ...scenario, lastsMs: 20_000 })),
      subjects: ['antipode'],
      say: () => undefined,
    });
    expect(rows).toHaveLength(8);
    expect(rows.filter(({ verdict }) => verdict !== 'right')).toEqual([]);
    const told = rows.flatMap(({ alert_s }) => alert_s ?? []);
    expect(told).toHaveLength(6);
    expect(Math.max(...told)).toBeLessThan(15);
  },
  240_000,
);
