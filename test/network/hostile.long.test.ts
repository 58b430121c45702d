import { expect, test } from 'vitest';
import { servicesHere } from '../support/services.ts';
import { canGiveResolver, isUnharmed, pingHere, runHostile } from './hostile/run.ts';

/** A short run of `npm run hostile`; the long ones are the project's own. */

test.runIf(canGiveResolver())(
  'cut compression, malformed DNS, bodies of crumbs, hostile ports, pings and registries end no probe, take no memory, and make no outage of anybody else',
  async () => {
    const told: string[] = [];
    const report = await runHostile({
      seconds: 20,
      services: servicesHere(),
      say: (line) => void told.push(line),
    });
    const { exits, confirmed, monitors } = report;
    const hasPing = pingHere() !== undefined;
    expect({ exits, confirmed }, told.join('\n')).toEqual({ exits: [], confirmed: 0 });
    expect(report.most_mib).toBeLessThanOrEqual(200);
    expect(monitors).toEqual({
      well: hasPing ? 40 : 36,
      compressed: 9,
      malformed: 40,
      crumbs: 12,
      ports: 45,
      pings: hasPing ? 12 : 0,
      registries: 10,
    });
    expect(isUnharmed(report), JSON.stringify(report)).toBe(true);
  },
  180_000,
);
