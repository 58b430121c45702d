import { beforeEach, describe, expect, test } from 'vitest';
import type { SendOutcome } from '../../../coordinator/notifications/kinds/types.ts';
import { beginMute } from '../../../coordinator/notifications/mute-queries.ts';
import { eventually } from '../../support/eventually.ts';
import { answered, notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('an outage that is over before its alert was planned', async () => {
  const { sql } = await ownDatabase({ name: 'telling_over', connections: 8 });
  const [second, minute] = [1_000, 60_000];

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
  });
  const told = (name: string) =>
    bench
      .heard(name)
      .flatMap(({ event, names }) => names.map((of) => `${event.split('.')[1]} ${of}`));
  const tellFor = async (ms: number): Promise<void> => {
    for (const until = bench.now + ms; bench.now < until; ) {
      bench.now += 15 * second;
      await bench.tell();
    }
  };
  const steps = () =>
    sql<
      { event: string; state: string; because: string | null }[]
    >`select event, state, because from alert_steps order by id`;

  test('rule 31: a "down" that was due is sent as past, once, whether it was planned by then or not', async () => {
    await bench.channel('chat');
    const unplanned = await bench.down(await bench.monitor('Shop'));
    bench.now += 20 * second;
    await bench.up(unplanned);
    await bench.tell();
    expect(bench.heard('chat').map(({ event, sentence }) => [event, sentence])).toEqual([
      ['incident.was_down', expect.stringMatching(/^Shop was down for 20 s: /)],
    ]);
    const planned = await bench.down(await bench.monitor('Mail'));
    await bench.coordinator().planner.plan();
    bench.now += 20 * second;
    await bench.up(planned);
    await tellFor(5 * minute);
    expect(told('chat')).toEqual(['was_down Shop', 'was_down Mail']);
  });

  test('rule 31: so is one whose delay was over before it was, and no other', async () => {
    await bench.channel('later', { delay_s: 30 });
    const [short, long] = [
      await bench.down(await bench.monitor('Short')),
      await bench.down(await bench.monitor('Long')),
    ];
    await bench.coordinator().planner.plan();
    bench.now += 29 * second;
    await bench.up(short);
    bench.now += second;
    await bench.up(long);
    await tellFor(2 * minute);
    expect(told('later')).toEqual(['was_down Long']);
  });

  test('rules 31 and 36: an alert that a mute held until the end is dropped, however late it is planned', async () => {
    await bench.channel('chat');
    const mute = {
      organisation: bench.organisation,
      user: null,
      at: bench.now,
      until: bench.now + minute,
    };
    await beginMute(sql, mute);
    const incident = await bench.down(await bench.monitor('Shop'));
    bench.now += 30 * second;
    await bench.up(incident);
    bench.now += 5 * minute;
    await bench.tell();
    expect(told('chat')).toEqual([]);
    expect(await steps()).toEqual([{ event: 'down', state: 'dropped', because: 'over' }]);
    // A mute that ended long before the outage did held it for a time only.
    const longer = await bench.down(await bench.monitor('Mail'));
    await beginMute(sql, { ...mute, at: bench.now, until: bench.now + minute });
    bench.now += 2 * minute;
    await bench.up(longer);
    await bench.tell();
    expect(told('chat')).toEqual(['was_down Mail']);
  });

  test('rule 4: outages that became known late are told together and once, with their times and never as flapping', async () => {
    bench.now = Date.UTC(2026, 10, 23, 9, 25);
    await bench.channel('chat');
    await bench.channel('program', { kind: 'webhook' });
    const [shop, mail] = [await bench.monitor('Shop'), await bench.monitor('Mail')];
    for (const from_min of [84, 60, 40])
      await bench.wasDown(shop, { from_ms: from_min * minute, for_ms: 8 * minute });
    await bench.wasDown(mail, { from_ms: 84 * minute, for_ms: 8 * minute });
    // A coordinator that is killed between its steps repeats them.
    await bench.coordinator().planner.plan();
    await sql`update alerts set planned_at = null`;
    await tellFor(minute);
    expect(bench.heard('chat').map(({ event, sentence }) => [event, sentence])).toEqual([
      [
        'incident.was_down',
        expect.stringMatching(
          /^2 monitors were down between 08:01 and 08:53; we learned it at 09:25 \(UTC\): /,
        ),
      ],
    ]);
    expect(told('program').toSorted()).toEqual([
      'was_down Mail',
      'was_down Shop',
      'was_down Shop',
      'was_down Shop',
    ]);
    expect(bench.heard('program').map(({ sentence }) => sentence)).toContainEqual(
      expect.stringMatching(/^Mail was down from 08:01 to 08:09; we learned it at 09:25 \(UTC\): /),
    );
  });

  test('rules 4 and 36: what a mute covered to its end is not told late either', async () => {
    await bench.channel('chat');
    await bench.wasDown(await bench.monitor('Shop'), { from_ms: 30 * minute, for_ms: minute });
    await beginMute(sql, {
      organisation: bench.organisation,
      user: null,
      at: bench.now - 40 * minute,
      until: bench.now - 20 * minute,
    });
    await tellFor(5 * minute);
    expect(told('chat')).toEqual([]);
    expect(await steps()).toEqual([{ event: 'down', state: 'dropped', because: 'over' }]);
  });

  test('rule 4: a "down" that no channel could take until it was over says when it was, and what waits leaves with the first that is taken', async () => {
    await bench.channel('chat');
    bench.answers.of = () => answered(503);
    const [shop, mail] = [
      await bench.down(await bench.monitor('Shop')),
      await bench.down(await bench.monitor('Mail')),
    ];
    await bench.tell();
    await tellFor(8 * minute);
    await bench.up(shop);
    await bench.tell();
    bench.answers.of = () => answered(204);
    const sent = bench.sent.length;
    await tellFor(3 * minute);
    const last = bench.heard('chat').slice(sent);
    expect(last.map(({ event, sentence }) => [event, sentence])).toEqual([
      ['incident.was_down', expect.stringMatching(/^Shop was down from 12:00 to 12:08 \(UTC\): /)],
      ['incident.down', expect.stringMatching(/^Mail is down/)],
    ]);
    expect(mail).toBeDefined();
  });

  test('rule 4: an outage that began before mail was set up is told once the process that has it starts', async () => {
    await bench.channel('chat');
    bench.answers.of = () => ({ is: 'failure', failure: 'mail_not_set_up' });
    const shop = await bench.down(await bench.monitor('Shop'));
    await bench.down(await bench.monitor('Mail'));
    await bench.tell();
    await tellFor(4 * minute);
    await bench.up(shop);
    await tellFor(6 * minute);
    const sent = bench.sent.length;
    bench.answers.of = () => answered(204);
    await bench.tell(bench.coordinator());
    expect(
      bench
        .heard('chat')
        .slice(sent)
        .map(({ event, names }) => [event, names]),
    ).toEqual([
      ['incident.was_down', ['Shop']],
      ['incident.down', ['Mail']],
    ]);
  });

  test('rules 31 and 37: a third short outage is sent as flapping all the same, and its end once it was steady', async () => {
    await bench.channel('chat');
    const monitor = await bench.monitor('Shop');
    for (let outage = 0; outage < 3; outage += 1) {
      const incident = await bench.down(monitor);
      if (outage < 2) await bench.tell();
      bench.now += minute;
      await bench.up(incident);
      await bench.tell();
      bench.now += minute;
    }
    await tellFor(16 * minute);
    expect(told('chat')).toEqual([
      'down Shop',
      'up Shop',
      'down Shop',
      'up Shop',
      'flapping Shop',
      'up Shop',
    ]);
  });

  test('rule 31: of an alert that is sent again as past, no earlier planned end is sent', async () => {
    await bench.channel('chat');
    const by = bench.coordinator();
    const compose = async (): Promise<void> => {
      while (await by.planner.plan());
      while (await by.composer.compose());
    };
    const answer = Promise.withResolvers<SendOutcome>();
    bench.answers.of = () => answer.promise;
    const [one, other] = [
      await bench.down(await bench.monitor('One')),
      await bench.down(await bench.monitor('Other')),
    ];
    await compose();
    await by.courier.hurry();
    await eventually(async () => bench.sent.length === 1);
    bench.now += second;
    await bench.up(one);
    // Its "down" is on its way: the end waits for it.
    await compose();
    answer.resolve(answered(503));
    await bench.settled();
    bench.now += 100;
    await bench.up(other);
    bench.answers.of = () => answered(204);
    await compose();
    await tellFor(minute);
    expect(told('chat').slice(2).toSorted()).toEqual(['was_down One', 'was_down Other']);
    await by.courier.close();
  });

  test('rule 31: one that ends while its "down" is being composed is sent as past, because no end is planned', async () => {
    await bench.channel('chat');
    const incident = await bench.down(await bench.monitor('Shop'));
    const by = bench.coordinator();
    await by.planner.plan();
    const isComposing = async () =>
      (
        await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      ).length > 0;
    let composing: Promise<number> | undefined;
    // As who plans the end does: the steps are held fast, and found untold.
    await sql.begin(async (planner) => {
      await planner`select 1 from alert_steps for update`;
      composing = by.composer.compose();
      await eventually(isComposing);
      await sql`update incidents set resolved_at = ${new Date(bench.now + 1)} where id = ${incident}`;
    });
    await composing;
    await bench.tell();
    expect(told('chat')).toEqual(['was_down Shop']);
  });
});
