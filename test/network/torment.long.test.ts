import { expect, test } from 'vitest';
import { hasBinaries } from '../support/services.ts';
import { faultsOf } from './torment/report.ts';
import { runTorment } from './torment/run.ts';

/** A short run of `npm run torment`; the long ones are the operator's and the project's own. */

test.runIf(hasBinaries())(
  'whatever fails, the database holds what the probes saw, and no false alert is sent',
  async () => {
    const told: string[] = [];
    const report = await runTorment({
      seed: 5,
      seconds: 15,
      restSeconds: 45,
      say: (line) => void told.push(line),
    });
    const found = Object.entries(faultsOf(report)).filter(([, list]) => list.length > 0);
    expect(found, told.join('\n')).toEqual([]);
    expect(report.balance.stored).toBeGreaterThan(100);
    expect(report.pings.taken).toBeGreaterThan(20);
    expect(Object.values(report.struck).reduce((sum, count) => sum + count)).toBeGreaterThan(0);
  },
  180_000,
);
