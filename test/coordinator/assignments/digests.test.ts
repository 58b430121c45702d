import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createDigestCheck, type DigestCheck } from '../../../coordinator/assignments/digests.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { partitionOf } from '../../../shared/bus/subjects.ts';
import {
  type Assigned,
  assignedElement,
  assignmentsDigest,
} from '../../../shared/checks/assignment.ts';
import type { Kind } from '../../../shared/checks/kinds.ts';
import { gateBench } from '../../support/gate.ts';
import { digestOf } from '../../support/monitors.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { probeRow } from '../../support/probe-rows.ts';

describe('the comparison of what a probe holds with what is wanted', () => {
  const bench = gateBench();
  const probe = probeRow('Paris', 0);
  const resyncMs = 17_000;
  let organisation: string;
  let check: DigestCheck;
  /** Of each time that everything was sent again: whether the markers were doubted. */
  let sent: boolean[];
  let now: number;
  let epoch: number;
  let held: { readonly assigned: readonly Assigned[]; readonly roster: number };
  let reports: number;

  beforeEach(async () => {
    await bench.sql`delete from monitors`;
    organisation = (await createTestOrganisation(bench.sql)).organisation;
    [sent, now, epoch, reports] = [[], 1_000, 1, 0];
    held = { assigned: [], roster: 1 };
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    check = createDigestCheck({
      sql: bench.sql,
      directory: { all: () => [probe] },
      keyOf: () => {
        throw new Error('no monitor here has secrets');
      },
      roster: () => ({ epoch, probes: [] }),
      resyncMs,
      presentOf: () => {
        const { assigned, roster } = held;
        const digest = assignmentsDigest(digestOf(assigned.map(assignedElement)));
        reports += 1;
        return {
          probe,
          at: reports,
          message: {
            ...{
              v: 1,
              probe: probe.id,
              generation: newId(),
              session: newId(),
              up_ms: 0,
              sent_at: 0,
            },
            ...{ version: 'test', seal_key: '', allowed_cidrs: [], kinds: [], ear: null },
            spool: { waiting: 0, dropped: 0, bytes: 0 },
            assignments: { count: assigned.length, digest, roster_epoch: roster },
            load: { in_flight: 0, late_ms: 0 },
            self_test: { ok: true, detail: '' },
            handed_over: true,
          },
        };
      },
      resync: (_, isStreamDoubted) => {
        sent.push(isStreamDoubted);
        return Promise.resolve();
      },
    });
    return () => vi.restoreAllMocks();
  });

  const addMonitor = async (type: Kind = 'https'): Promise<Assigned> => {
    const monitor = newId();
    const [row] = await bench.sql<{ key: number }[]>`
      insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${monitor}, ${organisation}, ${partitionOf(monitor)}, 'm', ${type}, 'example.com', 60)
      returning key`;
    if (!row) throw new Error('the monitor was not inserted');
    return {
      ...{ monitor, config_version: 1, interval_ms: 60_000, ordinal: row.key },
      ...{ continents: null, probe: null, places: null, key: null },
    };
  };

  const compare = async (afterMs = 15_000): Promise<void> => {
    now += afterMs;
    await check.tick();
  };

  test('finds a lost assignment while others are created and delivered', async () => {
    await addMonitor();
    for (let times = 0; times < 2; times += 1) {
      await compare();
      held = { assigned: [...held.assigned, await addMonitor()], roster: 1 };
    }
    await compare();
    expect(sent).toEqual([false]);
  });

  test('takes nothing for lost that is always another assignment on its way', async () => {
    for (let times = 0; times < 4; times += 1) {
      const next = await addMonitor();
      await compare();
      held = { assigned: [...held.assigned, next], roster: 1 };
    }
    expect(sent).toEqual([]);
  });

  test('finds a lost assignment while newer rosters arrive, and a roster that does not', async () => {
    const lost = await addMonitor();
    await compare();
    epoch = 2;
    held = { ...held, roster: 2 };
    await compare();
    expect(sent).toEqual([false]);
    held = { assigned: [lost], roster: 2 };
    await compare(resyncMs);
    epoch = 3;
    await compare();
    epoch = 4;
    await compare();
    expect(sent).toEqual([false]);
    await compare();
    expect(sent).toEqual([false, false]);
  });

  test('sends all of it ever less often where that does not help, and doubts the stream once', async () => {
    await addMonitor();
    const hourMs = 3_600_000;
    for (let ms = 0; ms < 24 * hourMs; ms += resyncMs) await compare(resyncMs);
    expect(sent.length).toBeGreaterThan(24);
    expect(sent.length).toBeLessThan(24 * 5);
    expect(sent.flatMap((isStreamDoubted, at) => (isStreamDoubted ? [at] : []))).toEqual([1]);
  });

  test('does so while others are on their way now and then', async () => {
    await addMonitor();
    const hourMs = 3_600_000;
    for (let ms = 0; ms < 3 * hourMs; ms += 3 * resyncMs) {
      const next = await addMonitor();
      await compare(resyncMs);
      held = { assigned: [...held.assigned, next], roster: 1 };
      await compare(resyncMs);
      await compare(resyncMs);
    }
    expect(sent.length).toBeLessThan(20);
    expect(sent.filter(Boolean)).toEqual([true]);
  });

  test('sends all of it at once where something else is missing', async () => {
    await addMonitor();
    for (let times = 0; times < 60; times += 1) await compare(resyncMs);
    const before = sent.length;
    await addMonitor();
    await compare(resyncMs);
    await compare(resyncMs);
    expect(sent.slice(before)).toEqual([false]);
  });
});
