import { expect, test } from 'vitest';
import { hasBinaries } from '../support/services.ts';
import { holds, runTorment } from './torment/run.ts';

/** A short run of `npm run torment`; the long ones are the operator's and the project's own. */

test.runIf(hasBinaries())(
  'whatever is killed, what the probes saw is what the database holds, and nothing is told that was not',
  async () => {
    const told: string[] = [];
    const report = await runTorment({ seed: 5, seconds: 15, restSeconds: 45, say: (line) => void told.push(line) });
    const { lost, doubled, invented } = report.balance;
    const { missed, false_alerts, crooked } = report.verdict;
    expect({ lost, doubled, invented, missed, false_alerts, crooked }, told.join('\n')).toEqual({
      ...{ lost: [], doubled: [], invented: [] },
      ...{ missed: [], false_alerts: [], crooked: [] },
    });
    expect(holds(report)).toBe(true);
    expect(report.balance.stored).toBeGreaterThan(100);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count)).toBeGreaterThan(0);
  },
  120_000,
);
