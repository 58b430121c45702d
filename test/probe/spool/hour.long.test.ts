import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSpool, type Spool } from '../../../probe/spool/store.ts';
import { createLog } from '../../../shared/base/log.ts';
import { partitionCount } from '../../../shared/bus/subjects.ts';
import type { Result } from '../../../shared/checks/result.ts';
import { drain, monitorIn, resultOf } from '../support/results.ts';

/** What an https check of a web server costs, as measured: 240 bytes if it passes, else 3.5 kB. */
const phases = { dns: 12.3, tcp: 125.1, tls: 123.6, first_byte: 121.4, total: 401.2 };
const passed: Partial<Result> = { phases };
const failed: Partial<Result> = {
  phases,
  outcome: 'fail',
  cause: { class: 'unexpected_status', params: { status: 500, expected: '2xx' } },
  evidence: { url: 'https://shop.example/', body: 'x'.repeat(3_200) },
};

describe('an hour without a way to the coordinators', () => {
  const [monitors, minutes] = [1_000, 60];
  const began = Date.UTC(2027, 0, 1);
  const all = Array.from({ length: monitors * minutes }, (_, number) => began + number * 60);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-hour-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const open = (): Promise<Spool> =>
    openSpool({
      folder,
      mostBytes: 256 * 1024 * 1024,
      log: createLog({ name: 'test', level: 'silent' }),
    });

  test.each([
    ['pass', passed, 15_000_000],
    ['fail, and carry their evidence', failed, 216_000_000],
  ] as const)(
    'loses none of 1,000 checks a minute that %s, also over a restart',
    async (_, seen, mostBytes) => {
      let spool = await open();
      for (const [number, at] of all.entries()) {
        spool.append(resultOf(monitorIn(number % partitionCount, number % monitors), at, seen));
        if (number % monitors > 0) continue;
        await spool.save();
        await spool.tick();
      }
      const { waiting, dropped, bytes } = spool.status();
      expect({ waiting, dropped }).toEqual({ waiting: all.length, dropped: 0 });
      expect(bytes).toBeLessThan(mostBytes);
      await spool.close();
      spool = await open();
      const kept: number[] = [];
      for (let partition = 0; partition < partitionCount; partition += 1) {
        const { ats } = await drain(spool, partition);
        expect(ats).toEqual(ats.toSorted((one, other) => one - other));
        kept.push(...ats);
      }
      expect(kept.toSorted((one, other) => one - other)).toEqual(all);
      await spool.close();
    },
    120_000,
  );
});
