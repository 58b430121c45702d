import { beforeEach, describe, expect, test } from 'vitest';
import { wantsWarnings } from '../../../coordinator/notifications/kinds/index.ts';
import { endMute, muteMonitors } from '../../../coordinator/notifications/mute-queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { daily, notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('rule 44: a warning', async () => {
  const { sql } = await ownDatabase({ name: 'warning', connections: 8 });
  const minute = 60_000;
  const day = 86_400_000;

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
  });
  /** Everything that waits to be gathered has been. */
  const tell = async () => {
    bench.now += 4 * minute;
    await bench.tell();
  };
  const heard = (name: string) => bench.heard(name).map(({ event, sentence }) => [event, sentence]);

  test('is sent once when it begins and once when it ends, by channels that want warnings', async () => {
    await bench.channel('chat');
    const pager = await bench.channel('pager');
    await sql`update channels set warnings = false where id = ${pager}`;
    const warning = await bench.warn(await bench.monitor('Shop'));
    await bench.tell();
    expect(heard('chat')).toEqual([]);
    await tell();
    await tell();
    await bench.endWarning(warning);
    await tell();
    await tell();
    expect(heard('chat')).toEqual([
      ['warning.started', 'Shop: response took 3 s, longer than 2 s.'],
      ['warning.ended', 'Shop: no longer a warning, response took 3 s, longer than 2 s.'],
    ]);
    expect(heard('pager')).toEqual([]);
  });

  test('of one certificate on 40 monitors, which see it one after the other, is one message with 40 names', async () => {
    await bench.channel('chat');
    const details = { ends_at: bench.now + 5.5 * day, stage: 7, certificate: 'AA' };
    for (let nth = 1; nth <= 40; nth += 1) {
      await bench.warn(await bench.monitor(`Shop ${nth}`), details);
      bench.now += 10_000;
      await bench.tell();
    }
    await tell();
    const [message, ...more] = bench.heard('chat');
    expect(more).toEqual([]);
    expect(message?.sentence).toBe('40 monitors: certificate expires in 5 days.');
    expect(message?.names).toHaveLength(40);
  });

  test('of a monitor that alone became slow leaves after ten seconds, and of several that did together', async () => {
    await bench.channel('chat');
    const warning = await bench.warn(await bench.monitor('Shop'));
    bench.now += 10_000;
    await bench.tell();
    expect(bench.heard('chat').map(({ names }) => names)).toEqual([['Shop']]);
    // Its end is in no hurry: it may become slow again.
    await bench.endWarning(warning);
    bench.now += minute;
    await bench.tell();
    expect(bench.heard('chat')).toHaveLength(1);
    await tell();
    for (const name of ['One', 'Two']) await bench.warn(await bench.monitor(name));
    bench.now += minute;
    await bench.tell();
    expect(bench.heard('chat')).toHaveLength(2);
    await tell();
    expect(bench.heard('chat').at(-1)?.names).toEqual(['One', 'Two']);
  });

  test('and another of one monitor are one message with both', async () => {
    await bench.channel('chat');
    const shop = await bench.monitor('Shop');
    await bench.warn(shop);
    await bench.warn(shop, { ends_at: bench.now + 5.5 * day, stage: 7 });
    await tell();
    expect(heard('chat')).toEqual([
      [
        'warning.started',
        'Shop: response took 3 s, longer than 2 s; certificate expires in 5 days.',
      ],
    ]);
  });

  test('of a certificate is sent again at its next stage', async () => {
    await bench.channel('chat');
    const shop = await bench.monitor('Shop');
    const ends_at = bench.now + 14 * day;
    const warning = await bench.warn(shop, { ends_at, stage: 14 });
    await tell();
    bench.now += 7 * day;
    await bench.warn(shop, { ends_at, stage: 7 }, warning);
    await tell();
    expect(heard('chat').map(([, sentence]) => sentence)).toEqual([
      'Shop: certificate expires in 13 days.',
      'Shop: certificate expires in 6 days.',
    ]);
  });

  test('that is over before it leaves is not sent, and neither is its end', async () => {
    await bench.channel('chat');
    const warning = await bench.warn(await bench.monitor('Shop'));
    bench.now += minute;
    await bench.endWarning(warning);
    await tell();
    expect(heard('chat')).toEqual([]);
  });

  test('waits while its monitor is muted, until the mute is ended', async () => {
    await bench.channel('chat');
    const shop = await bench.monitor('Shop');
    const of = { organisation: bench.organisation, user: null, at: bench.now };
    await muteMonitors(sql, of, [{ monitor: shop, until: null, until_resolved: true }]);
    await bench.warn(shop);
    await bench.warn(await bench.monitor('Cart'));
    await tell();
    await tell();
    expect(heard('chat').map(([, sentence]) => sentence)).toEqual([
      'Cart: response took 3 s, longer than 2 s.',
    ]);
    await endMute(sql, bench.organisation, bench.now, [shop]);
    await tell();
    expect(heard('chat').at(-1)?.at(-1)).toBe('Shop: response took 3 s, longer than 2 s.');
  });

  test('waits while all is muted, outside hours and in maintenance', async () => {
    await bench.channel('chat');
    await bench.channel('office', {
      hours: daily('14:00', '17:00'),
    });
    await sql`insert into mutes (id, organisation_id, began_at, until)
      values (${newId()}, ${bench.organisation}, ${new Date(bench.now)}, ${new Date(bench.now + 60 * minute)})`;
    await bench.warn(await bench.monitor('Shop'));
    await tell();
    expect([heard('chat').length, heard('office').length]).toEqual([0, 0]);
    bench.now += 57 * minute;
    await bench.tell();
    expect([heard('chat').length, heard('office').length]).toEqual([1, 0]);
    bench.now += 60 * minute;
    await bench.tell();
    expect([heard('chat').length, heard('office').length]).toEqual([1, 1]);
  });

  test('that is held goes to no channel that was turned off meanwhile', async () => {
    const chat = await bench.channel('chat', {
      hours: daily('14:00', '17:00'),
    });
    await bench.warn(await bench.monitor('Shop'));
    await tell();
    await sql`update channels set enabled = false where id = ${chat}`;
    bench.now += 180 * minute;
    await bench.tell();
    expect(heard('chat')).toEqual([]);
    expect(await sql`select state, because from alert_steps`).toEqual([
      { state: 'dropped', because: 'channel_off' },
    ]);
  });

  test('goes to channels that cover its monitor, and to no other organisation', async () => {
    const [shop, mail] = [await bench.monitor('Shop'), await bench.monitor('Mail')];
    const chosen = await bench.channel('chosen', { covers: 'chosen' });
    await sql`insert into channel_choices (channel_id, monitor_id) values (${chosen}, ${mail})`;
    await bench.channel('off', { enabled: false });
    await bench.warn(shop);
    await tell();
    expect([heard('chosen'), heard('off')]).toEqual([[], []]);
  });
});

test('pagers and phones get no warnings by default, mail and chat do', () => {
  expect(
    ['email', 'slack', 'webhook', 'pagerduty', 'twilio_sms', 'web_push'].map(wantsWarnings),
  ).toEqual([true, true, true, false, false, false]);
});
