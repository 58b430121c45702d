import { beforeAll, describe, expect, test } from 'vitest';
import {
  createMonitor,
  getMonitorStatus,
  muteMonitor,
  unmuteMonitor,
} from '../../../shared/api/monitors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  await bench.addProbe('Europe');
});

const https = { type: 'https', target: 'https://example.com/health' };

describe('muteMonitor', () => {
  test('is shown by the status until it expires or is ended; a new one replaces it', async () => {
    const { id } = await bench.call(createMonitor, house.owner, https);
    const muted = async () =>
      (await bench.call(getMonitorStatus, house.viewer, { monitor_id: id })).muted;
    expect(await muted()).toBeNull();
    const mute = (input: object) =>
      bench.call(muteMonitor, house.member, { monitor_id: id, ...input });
    const until = new Date(bench.now + 3_600_000).toISOString();
    expect((await mute({ minutes: 60 })).muted).toMatchObject({ until, until_resolved: false });
    await mute({ until_resolved: true });
    expect(await muted()).toMatchObject({ until: null, until_resolved: true });
    expect(
      await bench.sql`select from mutes where monitor_id = ${id} and ended_at is null`,
    ).toHaveLength(1);
    await bench.call(unmuteMonitor, house.member, { monitor_id: id });
    expect(await muted()).toBeNull();
    await mute({ minutes: 1 });
    bench.now += 61_000;
    expect(await muted()).toBeNull();
    expect(
      await bench.refusal(muteMonitor, house.member, { monitor_id: id, minutes: 10_081 }),
    ).toBe('mute_invalid');
  });
});
