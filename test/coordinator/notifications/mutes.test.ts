import { describe, expect, test } from 'vitest';
import { endMute, muteMonitors } from '../../../coordinator/notifications/mute-queries.ts';
import { notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('mutes', async () => {
  const { sql } = await ownDatabase({ name: 'mutes', connections: 8 });
  const minute = 60_000;

  test('rule 36: a mute of one monitor holds its alerts alone, and ends by time, by hand or with its outage', async () => {
    const bench = await notificationBench(sql);
    await bench.channel('hook');
    const [muted, until, resolved, other] = [
      await bench.monitor('Muted'),
      await bench.monitor('Until'),
      await bench.monitor('Resolved'),
      await bench.monitor('Other'),
    ];
    const at = bench.now;
    await muteMonitors(sql, { organisation: bench.organisation, user: null, at }, [
      { monitor: muted, until: null, until_resolved: false },
      { monitor: until, until: bench.now + 10 * minute, until_resolved: false },
      { monitor: resolved, until: null, until_resolved: true },
    ]);
    for (const monitor of [muted, until, other]) await bench.down(monitor);
    const outage = await bench.down(resolved);
    await bench.tell();
    const heard = () => bench.heard('hook').map(({ sentence }) => String(sentence).split(' ')[0]);
    expect(heard()).toEqual(['Other']);
    bench.now += minute;
    await bench.up(outage);
    await bench.tell();
    bench.now += 60 * minute;
    await bench.tell();
    expect(heard()).toEqual(['Other', 'Until']);
    expect(
      await sql`select state, because from alert_steps
        where incident_id = ${outage} and event = 'down'`,
    ).toEqual([{ state: 'dropped', because: 'over' }]);
    await endMute(sql, bench.organisation, bench.now, [muted]);
    bench.now += minute;
    await bench.tell();
    expect(heard()).toEqual(['Other', 'Until', 'Muted']);
    // Its mute ended with that outage: the next one is told.
    bench.now += 60 * minute;
    await bench.down(resolved);
    await bench.tell();
    expect(heard()).toHaveLength(4);
  });
});
