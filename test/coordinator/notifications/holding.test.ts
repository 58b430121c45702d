import { beforeEach, describe, expect, test } from 'vitest';
import { insertWindow } from '../../../coordinator/maintenance/queries.ts';
import { draftWindow } from '../../../coordinator/maintenance/window.ts';
import {
  channelsEver,
  suppress,
  updateChannel,
} from '../../../coordinator/notifications/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { answered, daily, notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('an alert that is held', async () => {
  const { sql } = await ownDatabase({ name: 'holding', connections: 8 });
  const minute = 60_000;

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
  });
  const events = (name: string) => bench.heard(name).map(({ event }) => event.split('.')[1]);

  test('rule 37: the end of short outages that nobody was told of is not sent because flapping was told before', async () => {
    await bench.channel('chat', {
      hours: daily('08:00', '14:00'),
    });
    const shop = await bench.monitor('Shop');
    const three = async (lastMs = minute) => {
      for (let times = 0; times < 3; times += 1) {
        const incident = await bench.down(shop);
        await bench.tell();
        bench.now += times < 2 ? minute : lastMs;
        await bench.tell();
        await bench.up(incident);
        await bench.tell();
        bench.now += 3 * minute;
      }
      for (let quarter = 0; quarter < 3; quarter += 1) {
        bench.now += 15 * minute;
        await bench.tell();
      }
    };
    await three();
    expect(events('chat')).toEqual(['down', 'up', 'down', 'up', 'flapping', 'up']);
    bench.now += 5 * 60 * minute;
    await three();
    expect(events('chat')).toHaveLength(6);
    // So it is after a time that ended in an outage of some minutes.
    bench.now = Date.UTC(2026, 10, 24, 12);
    await three(6 * minute);
    const noon = events('chat').slice(6);
    expect(noon).toEqual(['down', 'up', 'down', 'up', 'flapping', 'down', 'up']);
    bench.now += 5 * 60 * minute;
    await three();
    expect(events('chat').slice(6)).toEqual(noon);
  });

  test('rule 36: what maintenance holds is decided again every few seconds, and says until when', async () => {
    await bench.channel('chat', { reminder_s: 600 });
    const [shop, mail] = [await bench.monitor('Shop'), await bench.monitor('Mail')];
    await bench.down(shop);
    await bench.tell();
    const ends_at = bench.now + 60 * minute;
    const moment = (at: number) => ({ is: 'instant', at }) as const;
    const times = { starts_at: moment(bench.now), ends_at: moment(ends_at) };
    const draft = draftWindow({ name: null, rrule: null, ...times }, 'UTC');
    const window = { id: newId(), organisation: bench.organisation, draft, groups: [] };
    await insertWindow(sql, { ...window, monitors: [shop, mail] }, bench.now);
    await bench.warn(mail);
    bench.now += 11 * minute;
    await bench.tell();
    expect(events('chat')).toEqual(['down']);
    const held = await sql<{ event: string; look_at: number; holds: unknown[][] }[]>`
      select event, look_at, holds from alert_steps where state = 'held' order by event`;
    expect(held.map(({ event }) => event)).toEqual(['reminder', 'warning']);
    for (const step of held) {
      expect(step.look_at).toEqual(bench.now + 5_000);
      expect(step.holds.at(-1)).toEqual(['maintenance', bench.now, ends_at]);
    }
    bench.now = ends_at;
    await bench.tell();
    expect(events('chat').toSorted()).toEqual(['down', 'reminder', 'started']);
  });

  test('rule 30: a channel that is turned off, or unsubscribes, gets nothing that waits for it', async () => {
    const [off, out] = [await bench.channel('off'), await bench.channel('out')];
    bench.answers.of = () => answered(503);
    await bench.down(await bench.monitor('Shop'));
    await bench.tell();
    await sql`update channels set kind = 'email', config = '{"address": "ana@shop.example"}' where id = ${out}`;
    const [row] = await channelsEver(sql, bench.organisation);
    if (row === undefined) throw new Error('no channel');
    expect(row.id).toBe(off);
    const of = { organisation: bench.organisation, user: null, host: null, enabled: false };
    await updateChannel(sql, { ...row, ...of }, bench.now);
    await suppress(sql, bench.organisation, 'ana@shop.example', bench.now);
    expect(await sql`select state, words from deliveries order by words`).toEqual([
      { state: 'failed', words: 'The channel was turned off.' },
      { state: 'failed', words: 'The mailbox unsubscribed.' },
    ]);
    // One that its receiver takes meanwhile is taken, so that its end is sent, too.
    const late = await bench.channel('late');
    bench.answers.of = async () => {
      const channel = (await channelsEver(sql, bench.organisation)).find(({ id }) => id === late);
      if (channel) await updateChannel(sql, { ...channel, ...of }, bench.now);
      return answered(202);
    };
    await bench.down(await bench.monitor('Mail'));
    await bench.tell();
    const stateOf = () => sql`select state from deliveries where channel_id = ${late}`;
    await eventually(async () => (await stateOf())[0]?.state === 'delivered');
  });
});
