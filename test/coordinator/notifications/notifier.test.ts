import { beforeEach, describe, expect, test } from 'vitest';
import { Query } from '../../../coordinator/database/statement.ts';
import { writeAcknowledgement } from '../../../coordinator/incidents/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks } from '../../support/checks.ts';
import { eventually } from '../../support/eventually.ts';
import { answered, daily, notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('notifier', async () => {
  const { sql } = await ownDatabase({ name: 'notifier', connections: 8 });
  const minute = 60_000;

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
  });
  const events = (name: string) => bench.heard(name).map(({ event }) => event.split('.')[1]);

  describe('recipients and times', () => {
    test('rules 25 and 30: a "down" and its "up", to each channel that covers the monitor, once', async () => {
      const [shop, mail, group] = [
        await bench.monitor('Shop'),
        await bench.monitor('Mail'),
        newId(),
      ];
      await sql`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${bench.organisation}, 'Web', 'web')`;
      const [one, ofGroup] = [
        await bench.channel('one', { covers: 'chosen' }),
        await bench.channel('group', { covers: 'chosen' }),
      ];
      await bench.channel('all');
      await bench.channel('off', { enabled: false });
      await sql`insert into channel_choices (channel_id, monitor_id) values (${one}, ${mail})`;
      await sql`insert into channel_choices (channel_id, group_id) values (${ofGroup}, ${group})`;
      // Membership counts as it is when the "down" becomes due.
      await sql`update monitors set group_id = ${group} where id = ${shop}`;
      const incident = await bench.down(shop);
      await bench.tell();
      await bench.tell();
      await sql`update monitors set group_id = null where id = ${shop}`;
      bench.now += 20_000;
      await bench.up(incident);
      await bench.tell();
      expect({
        all: events('all'),
        group: events('group'),
        one: events('one'),
        off: events('off'),
      }).toEqual({
        all: ['down', 'up'],
        group: ['down', 'up'],
        one: [],
        off: [],
      });
      expect(bench.heard('all').map(({ sentence }) => sentence)).toEqual([
        expect.stringMatching(/^Shop is down: /),
        'Shop is up again after 20 s.',
      ]);
    });

    test('rule 33: a channel with a delay is notified only if the incident is open by then and unacknowledged', async () => {
      await bench.channel('later', { delay_s: 300 });
      const [one, two, three] = [
        await bench.monitor('One'),
        await bench.monitor('Two'),
        await bench.monitor('Three'),
      ];
      await bench.down(one);
      const over = await bench.down(two);
      const acknowledged = await bench.down(three);
      await bench.tell();
      bench.now += 299_000;
      await bench.up(over);
      await writeAcknowledgement(sql, {
        incidents: [acknowledged],
        organisation: bench.organisation,
        user: null,
        as: 'Ada',
        now: bench.now,
      });
      await bench.tell();
      expect(events('later')).toEqual([]);
      bench.now += 1_000;
      await bench.tell();
      expect(bench.heard('later').map(({ names }) => names)).toEqual([['One']]);
    });

    test('rules 34 and 35: reminders at doubling intervals, until an acknowledgement, which is announced', async () => {
      await bench.channel('chat', { reminder_s: 600 });
      const incident = await bench.down(await bench.monitor('Shop'));
      for (let minutes = 0; minutes <= 31; minutes += 1) {
        await bench.tell();
        bench.now += minute;
      }
      expect(events('chat')).toEqual(['down', 'reminder', 'reminder']);
      await writeAcknowledgement(sql, {
        incidents: [incident],
        organisation: bench.organisation,
        user: null,
        as: 'Ada',
        now: bench.now,
      });
      for (let minutes = 0; minutes <= 60; minutes += 10) {
        await bench.tell();
        bench.now += 10 * minute;
      }
      await bench.up(incident);
      await bench.tell();
      expect(events('chat')).toEqual(['down', 'reminder', 'reminder', 'acknowledged', 'up']);
      expect(bench.heard('chat')[3]?.sentence).toBe('Shop is acknowledged by Ada.');
    });

    test('rule 36: while all is muted, and outside hours, a "down" is held; what is over by then is dropped', async () => {
      await bench.channel('chat');
      await bench.channel('office', {
        hours: daily('14:00', '17:00'),
      });
      await sql`insert into mutes (id, organisation_id, began_at, until)
      values (${newId()}, ${bench.organisation}, ${new Date(bench.now)}, ${new Date(bench.now + 60 * minute)})`;
      await bench.down(await bench.monitor('Shop'));
      const over = await bench.down(await bench.monitor('Mail'));
      await bench.tell();
      bench.now += 59 * minute;
      await bench.up(over);
      await bench.tell();
      expect([events('chat'), events('office')]).toEqual([[], []]);
      bench.now += minute;
      await bench.tell();
      expect([events('chat'), events('office')]).toEqual([['down'], []]);
      bench.now += 60 * minute;
      await bench.tell();
      expect([events('chat'), events('office')]).toEqual([['down'], ['down']]);
    });

    test('rule 37: the third outage within 30 min is sent once as flapping, then nothing until it was steady', async () => {
      await bench.channel('chat');
      const shop = await bench.monitor('Shop');
      const outage = async (afterMs: number) => {
        const incident = await bench.down(shop);
        await bench.tell();
        bench.now += minute;
        await bench.up(incident);
        await bench.tell();
        bench.now += afterMs;
      };
      for (let times = 0; times < 5; times += 1) await outage(3 * minute);
      expect(events('chat')).toEqual(['down', 'up', 'down', 'up', 'flapping']);
      bench.now += 12 * minute;
      await bench.tell();
      expect(events('chat')).toEqual(['down', 'up', 'down', 'up', 'flapping', 'up']);
      expect(bench.heard('chat').at(-1)?.sentence).toContain('stable for 15 min');
      await outage(minute);
      expect(events('chat').slice(6)).toEqual(['down', 'up']);
    });

    test('rule 37: a brownout is told as its rate, and its end once', async () => {
      await sql`update organisations set time_zone = 'Europe/Berlin'`;
      await bench.channel('chat');
      const shop = await bench.monitor('Shop');
      const check = (second: number, outcome: 'ok' | 'fail') => {
        const cause = outcome === 'ok' ? null : 'unexpected_status';
        return storeChecks(sql, shop, [{ at: bench.now + second * 1_000, outcome, cause }]);
      };
      for (let times = 0; times < 3; times += 1) {
        const incident = await bench.down(shop);
        const cause = { class: 'unexpected_status', params: { status: 500, expected: '2xx' } };
        await sql`update incidents set cause = ${JSON.stringify(cause)} where id = ${incident}`;
        await check(0, 'fail');
        for (let second = 10; second < 50 && times < 2; second += 10) await check(second, 'ok');
        await bench.tell();
        bench.now += minute;
        await bench.up(incident);
        await bench.tell();
        bench.now += minute;
      }
      expect(bench.heard('chat').at(-1)?.sentence).toBe(
        'Shop is flapping: it answers 8 of 11 requests, 3 with status 500, since 13:00 (Europe/Berlin). You will hear again once it is stable for 15 min or down for 5.',
      );
      bench.now += 16 * minute;
      await bench.tell();
      expect(events('chat')).toEqual(['down', 'up', 'down', 'up', 'flapping', 'up']);
    });

    test('rule 37: one that stays down for five minutes is sent all the same', async () => {
      await bench.channel('chat');
      const shop = await bench.monitor('Shop');
      for (let times = 0; times < 3; times += 1) {
        const incident = await bench.down(shop);
        await bench.tell();
        bench.now += minute;
        await bench.up(incident);
        await bench.tell();
        bench.now += minute;
      }
      const long = await bench.down(shop);
      await bench.tell();
      bench.now += 5 * minute;
      await bench.tell();
      expect(events('chat').slice(4)).toEqual(['flapping', 'down']);
      // What the flapping opened at a receiver ends with it.
      await bench.up(long);
      await bench.tell();
      const threads = await sql<{ event: string; thread_id: string }[]>`
        select event, thread_id from deliveries order by key`;
      expect(new Set(threads.slice(4).map(({ thread_id }) => thread_id)).size).toBe(1);
      expect(threads.slice(4).map(({ event }) => event)).toEqual(['flapping', 'down', 'up']);
    });
  });

  describe('delivery', () => {
    test('rule 32: 100 monitors down within a second are at most four messages, and each says what else is down', async () => {
      await bench.channel('chat');
      const monitors = await Promise.all(
        Array.from({ length: 100 }, (_, index) => bench.monitor(`Shop ${index}`)),
      );
      for (const [index, monitor] of monitors.entries()) {
        await bench.down(monitor);
        bench.now += 10;
        if (index % 10 === 0) await bench.tell();
      }
      for (let seconds = 0; seconds < 20; seconds += 1) {
        bench.now += 1_000;
        await bench.tell();
      }
      const heard = bench.heard('chat');
      expect(heard.length).toBeLessThanOrEqual(4);
      expect(heard[0]?.names).toEqual(['Shop 0']);
      expect(heard.flatMap(({ names }) => names)).toHaveLength(100);
      const told = await sql<
        { count: number }[]
      >`select (told -> 'others_down' ->> 'count')::int as count from deliveries order by key desc limit 1`;
      expect(told[0]?.count).toBe(100 - (heard.at(-1)?.names.length ?? 0));
    });

    test('rule 31: what is not taken is tried again with the same key, until it is', async () => {
      await bench.channel('chat');
      bench.answers.of = () => answered(503);
      await bench.down(await bench.monitor('Shop'));
      await bench.tell();
      for (const seconds of [1, 5, 30]) {
        bench.now += seconds * 1_000 - 1;
        await bench.tell();
        bench.now += 1;
        await bench.tell();
      }
      bench.answers.of = () => answered(200);
      bench.now += 120_000;
      await bench.tell();
      expect(bench.heard('chat')).toHaveLength(5);
      expect(new Set(bench.heard('chat').map(({ key }) => key)).size).toBe(1);
      expect(
        (await sql<{ log: readonly { verdict: string }[] }[]>`select log from deliveries`).map(
          ({ log }) => log.map(({ verdict }) => verdict),
        ),
      ).toEqual([['retry', 'retry', 'retry', 'retry', 'delivered']]);
    });

    test('rule 31: a "down" that ended before delivery becomes one message, and the rest of its message is sent on', async () => {
      await bench.channel('chat');
      bench.answers.of = () => answered(503);
      const [over] = [
        await bench.down(await bench.monitor('Shop')),
        await bench.down(await bench.monitor('Mail')),
      ];
      await bench.tell();
      bench.now += 6 * minute;
      bench.answers.of = () => answered(200);
      await bench.up(over);
      await bench.tell();
      bench.now += 3_600_000;
      await bench.tell();
      const heard = bench.heard('chat').slice(1);
      expect(
        heard.flatMap(({ event, names }) => names.map((name) => `${event} ${name}`)).toSorted(),
      ).toEqual(['incident.down Mail', 'incident.was_down Shop']);
    });

    test('rule 31: a permanent refusal ends it, and no end is sent', async () => {
      await bench.channel('chat');
      bench.answers.of = () => answered(410);
      const incident = await bench.down(await bench.monitor('Shop'));
      await bench.tell();
      bench.now += minute;
      await bench.up(incident);
      await bench.tell();
      expect(events('chat')).toEqual(['down']);
      expect(await sql`select event, state, because from alert_steps order by id`).toEqual([
        { event: 'down', state: 'told', because: null },
        { event: 'up', state: 'dropped', because: 'never_told' },
      ]);
    });

    test.each([403, 404])(
      'rule 31: %i of a receiver that people host themselves is believed after two minutes',
      async (status) => {
        await bench.channel('room', { kind: 'mattermost' });
        bench.answers.of = () => answered(status);
        await bench.down(await bench.monitor('Shop'));
        await bench.tell();
        const states: [attempts: number, state: string][] = [];
        for (const pause of [0, 1_000, 5_000, 30_000, 120_000, 600_000]) {
          bench.now += pause;
          await bench.tell();
          const [row] = await sql<
            { attempts: number; state: string }[]
          >`select attempts, state from deliveries`;
          states.push([row?.attempts ?? 0, row?.state ?? '']);
        }
        expect(states).toEqual([
          [1, 'waiting'],
          [2, 'waiting'],
          [3, 'waiting'],
          [4, 'waiting'],
          [5, 'refused'],
          [5, 'refused'],
        ]);
      },
    );

    test('two coordinators at once notify each channel of each incident once', async () => {
      await Promise.all(['a', 'b', 'c'].map((name) => bench.channel(name)));
      const monitors = await Promise.all(
        Array.from({ length: 20 }, (_, index) => bench.monitor(`Shop ${index}`)),
      );
      for (const monitor of monitors) await bench.down(monitor);
      const both = [bench.coordinator(), bench.coordinator(), bench.coordinator()];
      for (let seconds = 0; seconds < 20; seconds += 1) {
        await Promise.all(both.map((coordinator) => bench.tell(coordinator)));
        bench.now += 1_000;
      }
      for (const name of ['a', 'b', 'c'])
        expect(
          bench
            .heard(name)
            .flatMap(({ names }) => names)
            .toSorted(),
        ).toEqual(monitors.map((_, index) => `Shop ${index}`).toSorted());
    });

    test('one slow channel holds up no other', async () => {
      await bench.channel('slow');
      await bench.channel('quick');
      let answer: () => void = () => undefined;
      const slow = new Promise<void>((resolve) => {
        answer = resolve;
      });
      bench.answers.of = (outgoing) =>
        'url' in outgoing && outgoing.url.includes('slow')
          ? slow.then(() => answered(200))
          : answered(200);
      const by = bench.coordinator();
      for (const name of ['One', 'Two', 'Three', 'Four']) {
        await bench.down(await bench.monitor(name));
        while (await by.planner.plan());
        while (await by.composer.compose());
        await by.courier.hurry();
        bench.now += 20_000;
      }
      // The composer passes over a channel whose last answer is being stored, and comes back to it.
      const hears = (name: string, messages: number) =>
        eventually(async () => {
          while (await by.composer.compose());
          await by.courier.hurry();
          return bench.heard(name).length === messages;
        });
      await hears('quick', 4);
      expect(bench.heard('slow')).toHaveLength(2);
      answer();
      await hears('slow', 4);
      await by.courier.close();
    });

    test('a message that becomes due in the very moment in which a claim ends is sent', async () => {
      await bench.channel('quick');
      for (let turns = 0; turns < 8; turns += 1) {
        const monitor = await bench.monitor(`Shop ${turns}`);
        let hurryLater: (() => Promise<void>) | undefined = async () => {
          for (let turn = 0; turn < turns; turn += 1) await null;
          await by.courier.hurry();
        };
        const claimed = async (answer: PromiseLike<unknown>) => {
          const messages = await answer;
          if (hurryLater === undefined) return messages;
          await bench.down(monitor);
          while (await by.planner.plan());
          while (await by.composer.compose());
          void hurryLater();
          hurryLater = undefined;
          return messages;
        };
        const watched = new Proxy(sql, {
          apply: (target, self, [texts, ...values]: Parameters<typeof sql>) => {
            const answer = Reflect.apply(target, self, [texts, ...values]);
            return answer instanceof Query && String(texts).includes('claimed as')
              ? claimed(answer)
              : answer;
          },
        });
        const by = bench.coordinator(newId(), watched);
        await by.courier.hurry();
        await eventually(async () => bench.heard('quick').length === turns + 1);
        await by.courier.close();
        bench.now += 20_000;
      }
    });

    test('rule 15: names the continents that are still checking, and says "everywhere" only of all asked', async () => {
      await bench.channel('all');
      const [some, every] = [
        await bench.down(await bench.monitor('Some')),
        await bench.down(await bench.monitor('Every')),
      ];
      const seen = {
        failed: ['Asia', 'North America'],
        passed: [],
        asked: ['Asia', 'Europe', 'North America'],
      };
      await sql`update incidents set scope = 'some_continents', progress = ${JSON.stringify({ progress: seen })} where id = ${some}`;
      await sql`update incidents set scope = 'everywhere', progress = ${JSON.stringify({ progress: { ...seen, failed: seen.asked } })} where id = ${every}`;
      await sql`update alerts set due_at = ${new Date(bench.now + minute)} where incident_id = ${every}`;
      await bench.tell();
      bench.now += minute;
      await bench.tell();
      expect(bench.heard('all').map(({ sentence }) => sentence)).toEqual([
        expect.stringMatching(/^Some is down from 2 of 3 continents; Europe is checking: /),
        expect.stringMatching(/^Every is down everywhere: /),
      ]);
    });

    test('times are of the clock of the organisation, with UTC beside it', async () => {
      await sql`update organisations set time_zone = 'Europe/Berlin'`;
      await bench.channel('duty', { kind: 'pagerduty' });
      await bench.down(await bench.monitor('Shop'));
      await bench.tell();
      const bodies = bench.sent.flatMap((outgoing) =>
        outgoing.by === 'https' ? [JSON.parse(outgoing.body)] : [],
      );
      expect(bodies).toMatchObject([
        { payload: { custom_details: { Started: '2026-11-23 13:00:00 (12:00:00 UTC)' } } },
      ]);
    });
  });
});
